/** Lets the pages of one node ask another one: it is another origin to a browser. */
import type { Middleware } from "@webfw/core";

/**
 * Answers the pages of some origins, and no others.
 *
 * @param origins The origins, such as `http://127.0.0.1:8001`.
 */
export function cors(origins: readonly string[]): Middleware {
  return async (request, next) => {
    const origin = request.headers.get("origin");
    const isPreflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
    const isKnown = origin !== null && origins.includes(origin);
    const response = isPreflight && isKnown ? new Response(null, { status: 204 }) : await next(request);
    response.headers.append("vary", "origin");
    if (!isKnown) return response;
    response.headers.set("access-control-allow-origin", origin);
    if (isPreflight) {
      response.headers.set("access-control-allow-methods", "GET, POST");
      response.headers.set("access-control-allow-headers", "content-type");
    }
    return response;
  };
}
