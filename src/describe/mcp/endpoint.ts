/** The agent endpoint, `POST /mcp`: agents find and call the routes that are exposed as tools. */
import { load } from "../../base/async_context.ts";
import { HTTPError } from "../../base/errors.ts";
import { refuseContentEncoding } from "../../http/body_errors.ts";
import { isJson } from "../../http/json.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { McpApplication, McpServer } from "./server.ts";

/**
 * Makes the handler of the endpoint: the Model Context Protocol over HTTP without sessions,
 * revisions 2025-03-26 to 2026-07-28. Faults of the HTTP request are thrown as by any route; faults
 * of the protocol's message are answered as the protocol says.
 *
 * @param parts The application. Its routes are read at the first request.
 * @returns The handler. It throws an `HTTPError` with 405, 408, 413 or 415.
 */
export function mcpEndpoint(parts: McpApplication): (request: HttpRequest) => Promise<Response> {
  let server: Promise<McpServer> | undefined;
  return async (request) => {
    if (request.method !== "POST") {
      throw new HTTPError(405, "Agents send POST requests, and are sent no events", { headers: { allow: "POST" } });
    }
    if (!isJson(request.headers.get("content-type"))) {
      throw new HTTPError(415, "The body must be JSON in UTF-8: send it with content-type application/json", {
        headers: { accept: "application/json" },
      });
    }
    refuseContentEncoding(request.headers);
    const text = await request.text();
    // After a failure the next request tries again.
    server ??= loadServer(parts).catch((error) => {
      server = undefined;
      throw error;
    });
    return await (await server).answer(text, request);
  };
}

/** Loaded on first use: most applications serve no agent. */
async function loadServer(parts: McpApplication): Promise<McpServer> {
  const { McpServer } = await load(() => import("./server.ts"));
  return await McpServer.load(parts);
}
