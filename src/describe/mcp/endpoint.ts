import { HTTPError } from "../../errors.ts";
import { refuseContentEncoding } from "../../http/body_errors.ts";
import { isJson } from "../../http/json.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { McpApplication, McpServer } from "./server.ts";
import { checkOptions, type OptionNames } from "../../options.ts";

/**
 * Whom the agent endpoint answers: keeps web pages from reaching it through the browser of somebody who can.
 *
 * A page of another site says so in `Origin`, which a browser sends with every POST. By DNS rebinding, an attacker's name leads to
 * the address of the application, so that a page is of the same origin as what it attacks: `Origin` and `Host` agree, and neither
 * is to be trusted. Only an address, `localhost` and the names that the application says are its own cannot be rebound.
 */

/**
 * Whom the agent endpoint answers, beside clients that are no browsers.
 *
 * @example An application with a name of its own, and a page elsewhere that may call its tools
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App({ mcp: { hosts: ["books.example"], origins: ["https://assistant.example"] } });
 * const ask = (origin: string) =>
 *   app.fetch(
 *     new Request("https://books.example/mcp", {
 *       method: "POST",
 *       headers: { "content-type": "application/json", origin },
 *       body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
 *     }),
 *   );
 * assertEquals((await ask("https://assistant.example")).status, 200);
 * assertEquals((await ask("https://attacker.example")).status, 403);
 * ```
 */
export interface McpTrust {
  /**
   * The names that the application has, without port. Where given, a request under another name is refused; IP addresses and
   * `localhost` need no mention. Unless given, only clients on the same machine are held to these.
   */
  hosts?: readonly string[];
  /**
   * The origins of pages that may ask, such as `"https://assistant.example"`; `"*"` for all. Their
   * browsers get the leave they ask for (CORS), so that scripts can call tools by `fetch`, without
   * cookies. Pages of the application itself may ask, where it has a name that can be trusted.
   *
   * @default {[]}
   */
  origins?: readonly string[];
}

const OPTIONS: OptionNames<McpTrust> = { hosts: true, origins: true };

/** What a proxy on the same machine says of whom it speaks for. A page can say it, too, but cannot hide its `Origin`. */
const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host"];

const HOST = /^[\w-]+(?:\.[\w-]+)*$/;
/** Extensions of browsers and editors have schemes of their own. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#]+$/;

/**
 * Makes what refuses requests that may come from a page without the right to ask: it throws an `HTTPError` with 403.
 *
 * @param trust Whom to answer, as checked.
 */
export function compileTrust(trust: McpTrust): (request: HttpRequest) => void {
  const hosts = trust.hosts && new Set(trust.hosts.map((host) => host.toLowerCase()));
  const origins = new Set(trust.origins);
  return (request) => {
    const { hostname, host } = request.url;
    const isOwn = isUnrebindable(hostname) || hosts?.has(hostname) === true;
    if (!isOwn && (hosts !== undefined || isDirect(request))) {
      throw new HTTPError(403, "Agents are not served under this host: the application has to name it as its own");
    }
    const origin = request.headers.get("origin");
    if (origin === null || origins.has(origin) || origins.has("*")) return;
    const page = URL.canParse(origin) ? new URL(origin) : undefined;
    if (page && isOwn && page.host === host) return;
    if (page && isLocal(page.hostname) && isLocal(hostname)) return;
    throw new HTTPError(403, "Pages of this origin are not answered: the application has to name it as trusted");
  };
}

/**
 * Checks the option `mcp`.
 *
 * @throws {TypeError} When an option in it is unknown, or no request could ever fit it.
 */
export function checkTrust(trust: McpTrust): McpTrust {
  checkOptions(trust, OPTIONS, "set mcp");
  const { hosts = [], origins = [] } = trust;
  for (const host of hosts) {
    if (HOST.test(host)) continue;
    throw new TypeError(`Cannot set mcp.hosts: "${host}" is no name of a host, write it like "books.example"`);
  }
  for (const origin of origins) {
    if (origin === "*" || ORIGIN.test(origin)) continue;
    throw new TypeError(`Cannot set mcp.origins: "${origin}" is no origin, write it like "https://assistant.example"`);
  }
  return trust;
}

/** Whether the client is on this machine and speaks for itself, as a browser under attack would. */
function isDirect({ remoteAddress, headers }: HttpRequest): boolean {
  return remoteAddress !== null && /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress) &&
    !FORWARDING.some((name) => headers.has(name));
}

/** Whether no DNS server can make the name lead elsewhere. */
function isUnrebindable(hostname: string): boolean {
  return isLocal(hostname) || hostname.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(hostname);
}

function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127(?:\.\d+){3}$/.test(hostname);
}

/** The agent endpoint: `POST /mcp`, by which agents find and call the routes that are exposed as tools. */

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
    refuseContentEncoding(request.headers);
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
