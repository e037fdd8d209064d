/**
 * Which web pages may use the agent endpoint.
 *
 * A browser sends `Origin` with every POST, which gives pages of other sites away. DNS rebinding
 * gets around that: the attacker's host name is made to lead to the application's address, and then
 * `Origin` and `Host` agree. IP addresses, `localhost` and the names that the application lists
 * cannot be rebound.
 */
import { HTTPError } from "../../errors.ts";
import { withMutableHeaders } from "../../http/reply.ts";
import type { HttpRequest } from "../../http/request.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import type { Endpoint } from "../../routing/middleware.ts";

/**
 * Which hosts and web pages the agent endpoint accepts. Clients that are no browsers send no
 * origin.
 *
 * @example An application with a host name, and a page elsewhere that may call its tools
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
export interface McpOptions {
  /**
   * The host names of the application, without port. If given, a request under another name is
   * refused, except under IP addresses and `localhost`. If not given, only clients on the same
   * machine are held to IP addresses and `localhost`.
   */
  hosts?: readonly string[];
  /**
   * The origins of other pages that may use the endpoint, such as `"https://assistant.example"`;
   * `"*"` for all. Their browsers get the CORS headers that `fetch` without cookies needs. Pages of
   * the application itself need no entry if its host name cannot be rebound.
   *
   * @default {[]}
   */
  origins?: readonly string[];
}

const OPTIONS: OptionNames<McpOptions> = { hosts: true, origins: true };

const HOST = /^[\w-]+(?:\.[\w-]+)*$/;
/** Extensions of browsers and editors have their own schemes. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#]+$/;

/**
 * Headers that a proxy on the same machine adds. A page can send them too, but it cannot leave out
 * its `Origin`.
 */
const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host"];

const CLIENT_HEADERS = [
  "authorization",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
];
const EXPOSED_HEADERS = "mcp-protocol-version, mcp-session-id, retry-after, www-authenticate";
/** RFC 9110 section 5.1. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** In seconds. */
const PREFLIGHT_MAX_AGE = "7200";

/** The hosts and origins that are accepted. */
export class OriginPolicy {
  readonly #allowedHosts: ReadonlySet<string> | undefined;
  readonly #allowedOrigins: ReadonlySet<string>;
  readonly #allowsAllOrigins: boolean;

  /**
   * Checks the options.
   *
   * @throws {TypeError} If an option is unknown, or a host or origin can match no request.
   */
  constructor(options: McpOptions) {
    checkOptions(options, OPTIONS, "set mcp");
    const { hosts, origins = [] } = options;
    for (const host of hosts ?? []) {
      if (HOST.test(host)) continue;
      throw new TypeError(`Cannot set mcp.hosts: "${host}" is no name of a host, write it like "books.example"`);
    }
    for (const origin of origins) {
      if (origin === "*" || ORIGIN.test(origin)) continue;
      throw new TypeError(
        `Cannot set mcp.origins: "${origin}" is no origin, write it like "https://assistant.example"`,
      );
    }
    this.#allowedHosts = hosts && new Set(hosts.map((host) => host.toLowerCase()));
    this.#allowedOrigins = new Set(origins);
    this.#allowsAllOrigins = this.#allowedOrigins.has("*");
  }

  /**
   * Refuses a request under a host name that may not be the application's.
   *
   * @returns Whether the name is certainly its own.
   * @throws {HTTPError} With 403.
   */
  checkHost(request: HttpRequest): boolean {
    const { hostname } = request.url;
    const isOwnHost = cannotBeRebound(hostname) || this.#allowedHosts?.has(hostname) === true;
    if (!isOwnHost && (this.#allowedHosts !== undefined || isDirect(request))) {
      throw new HTTPError(403, "Agents are not served under this host: the application has to name it as its own");
    }
    return isOwnHost;
  }

  /**
   * Refuses a request that may come from a page without permission.
   *
   * @throws {HTTPError} With 403.
   */
  check(request: HttpRequest): void {
    const isOwnHost = this.checkHost(request);
    const { hostname, host } = request.url;
    const origin = request.headers.get("origin");
    if (origin === null || this.#allows(origin)) return;
    const page = URL.canParse(origin) ? new URL(origin) : undefined;
    if (page && isOwnHost && page.host === host) return;
    if (page && isLoopback(page.hostname) && isLoopback(hostname)) return;
    throw new HTTPError(403, "Pages of this origin are not answered: the application has to name it as trusted");
  }

  /**
   * Answers CORS preflights, and adds the CORS headers to other replies (Fetch standard, section
   * 3.2). It runs outside of all middleware, so that a page can read a middleware's 401, too.
   *
   * Undefined without allowed origins.
   */
  get cors(): ((request: HttpRequest, next: Endpoint) => Promise<Response>) | undefined {
    if (this.#allowedOrigins.size === 0) return undefined;
    return async (request, next) => {
      const origin = request.headers.get("origin");
      const isAllowed = origin !== null && this.#allows(origin);
      const response = isAllowed && isPreflight(request)
        ? preflightReply(request)
        : withMutableHeaders(await next(request));
      // A cache must not send the reply for one origin to another.
      if (!this.#allowsAllOrigins) response.headers.append("vary", "Origin");
      if (isAllowed) {
        response.headers.set("access-control-allow-origin", this.#allowsAllOrigins ? "*" : origin);
        response.headers.set("access-control-expose-headers", EXPOSED_HEADERS);
      }
      return response;
    };
  }

  #allows(origin: string): boolean {
    return this.#allowsAllOrigins || this.#allowedOrigins.has(origin);
  }
}

/** Whether the client is on this machine, without a proxy: so is a browser under attack. */
function isDirect({ remoteAddress, headers }: HttpRequest): boolean {
  return remoteAddress !== null && /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress) &&
    !FORWARDING.some((name) => headers.has(name));
}

function cannotBeRebound(hostname: string): boolean {
  return isLoopback(hostname) || hostname.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127(?:\.\d+){3}$/.test(hostname);
}

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers.has("access-control-request-method");
}

/** A tool may read any header of its caller, so every header that a page asks for is allowed. */
function preflightReply({ headers }: HttpRequest): Response {
  const requested = headers.get("access-control-request-headers") ?? "";
  const names = requested.split(",").map((name) => name.trim().toLowerCase()).filter((name) => HEADER_NAME.test(name));
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": [...new Set([...CLIENT_HEADERS, ...names])].join(", "),
      "access-control-max-age": PREFLIGHT_MAX_AGE,
    },
  });
}
