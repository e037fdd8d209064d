/**
 * The entity tags of replies that the platform compresses. It makes them weak, because the bytes
 * are not those of the handler.
 */
import type { ConnectionInfo } from "../http/connection.ts";

/** Answers requests. */
type Fetch = (request: Request, info?: ConnectionInfo) => Promise<Response>;

/**
 * Lets handlers find in `If-Match` the tags that they sent. A weak tag never matches there (RFC
 * 9110, section 13.1.1), so that nobody else needs to get one.
 */
export function withSentTags(fetch: Fetch): Fetch {
  return (request, info) => {
    const condition = request.headers.get("if-match");
    if (condition?.includes("W/")) {
      const headers = new Headers(request.headers);
      headers.set("if-match", condition.replace(/(?:W\/)?("[^"]*")/g, "$1"));
      // The headers of the platform cannot be changed. A copy of the request would lose the
      // connection, and its body would be read more slowly.
      Object.defineProperty(request, "headers", { value: headers });
    }
    return fetch(request, info);
  };
}
