/**
 * Lets pages of other origins use the agent endpoint: the protocol that browsers call CORS (Fetch
 * standard, section 3.2).
 */
import { withMutableHeaders } from "../../http/reply.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { Endpoint } from "../../routing/middleware.ts";

/** Headers that clients of the protocol send, beside those that browsers always allow. */
const CLIENT_HEADERS = [
  "authorization",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
];
/** Headers of a reply that scripts have to read. */
const EXPOSED_HEADERS = "mcp-protocol-version, mcp-session-id, retry-after, www-authenticate";
/** The name of a header, RFC 9110 section 5.1. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** How long a browser may cache the reply to a preflight, in seconds. */
const MAX_AGE = "7200";

/** Answers a request, or has the application answer it. */
export type CrossOrigin = (request: HttpRequest, next: Endpoint) => Promise<Response>;

/**
 * Makes the function that answers preflights, and adds the headers of CORS to replies. It adds
 * them whoever made the reply: the page has to see the 401 of a middleware, too.
 *
 * @param origins The origins of the pages; undefined or empty where there are none.
 */
export function compileCrossOrigin(origins: readonly string[] = []): CrossOrigin | undefined {
  if (origins.length === 0) return undefined;
  const listed = new Set(origins);
  const isOpen = listed.has("*");
  return async (request, next) => {
    const origin = request.headers.get("origin");
    const mayRead = origin !== null && (isOpen || listed.has(origin));
    const response = mayRead && isPreflight(request)
      ? preflightReply(request)
      : withMutableHeaders(await next(request));
    // A cache must not hand the reply for one origin to another.
    if (!isOpen) response.headers.append("vary", "Origin");
    if (mayRead) {
      response.headers.set("access-control-allow-origin", isOpen ? "*" : origin);
      response.headers.set("access-control-expose-headers", EXPOSED_HEADERS);
    }
    return response;
  };
}

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers.has("access-control-request-method");
}

/** A tool may read any header of its caller. So a page may send all that it asks for. */
function preflightReply({ headers }: HttpRequest): Response {
  const asked = headers.get("access-control-request-headers") ?? "";
  const names = asked.split(",").map((name) => name.trim().toLowerCase()).filter((name) => HEADER_NAME.test(name));
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": [...new Set([...CLIENT_HEADERS, ...names])].join(", "),
      "access-control-max-age": MAX_AGE,
    },
  });
}
