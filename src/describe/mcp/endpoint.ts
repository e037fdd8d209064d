/** The agent endpoint: `POST /mcp`, by which agents find and call the routes that are exposed as tools. */
import { HTTPError } from "../../errors.ts";
import { refuseCoded } from "../../http/body_refusal.ts";
import { isJson } from "../../http/media_type.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { McpApplication, McpServer } from "./server.ts";
import { compileTrust, type McpTrust } from "./trust.ts";

/** What the agent endpoint serves. */
export interface McpParts extends McpApplication {
  /** Whom it answers. */
  readonly trust: McpTrust;
}

/**
 * Makes the agent endpoint: the Model Context Protocol over HTTP without sessions, revisions 2025-03-26 to 2026-07-28.
 *
 * What HTTP itself refuses is thrown like the refusals of any route; what the protocol refuses is answered in its own form.
 *
 * @param parts The application, whose table is complete.
 * @returns What answers its requests. It throws an `HTTPError` with 403, 405, 408, 413 or 415.
 * @throws {TypeError} When it is not said well whom to answer.
 */
export function mcpEndpoint(parts: McpParts): (request: HttpRequest) => Promise<Response> {
  const refuseUntrusted = compileTrust(parts.trust);
  let server: Promise<McpServer> | undefined;
  return async (request) => {
    if (request.method !== "POST") {
      throw new HTTPError(405, "Agents send POST requests, and are sent no events", { headers: { allow: "POST" } });
    }
    refuseUntrusted(request);
    if (!isJson(request.headers.get("content-type"))) {
      throw new HTTPError(415, "The body must be JSON in UTF-8: send it with content-type application/json", {
        headers: { accept: "application/json" },
      });
    }
    refuseCoded(request.headers);
    const text = await request.text();
    // Where it cannot be loaded, the next request tries again.
    server ??= load(parts).catch((error) => {
      server = undefined;
      throw error;
    });
    return await (await server).answer(text, request);
  };
}

/** Loads what answers agents. An application that no agent asks never needs it. */
async function load(parts: McpApplication): Promise<McpServer> {
  const { McpServer } = await import("./server.ts");
  return await McpServer.load(parts);
}
