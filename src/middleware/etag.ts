/** A middleware that gives replies a version, so that clients do not load them again. */
import { load } from "../base/async_context.ts";
import { contextOf } from "../http/request.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * Adds an `ETag` to replies, and answers 304 where the client has this version already
 * (`If-None-Match`, RFC 9110, section 13.1.2). The handler still runs: this saves bytes, not work.
 *
 * The tag is strong: a hash of the content. It is for replies to GET and HEAD with status 200 and
 * at most 1 MiB that webfw makes at once: of JSON, `text()` and `html()`. Streams, a `Response`
 * that a program makes, and replies with `Cache-Control: no-store` stay as they are. Files have a
 * tag already. A tag that a reply has is kept.
 *
 * Add it before middleware that changes bodies or `Cache-Control`, so that it sees the changes.
 *
 * @example The second time without a body
 * ```ts
 * import { App } from "@webfw/core";
 * import { etag } from "@webfw/core/middleware";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.middleware(etag());
 * app.get("/books", async () => ["Emma"]);
 *
 * const first = await app.fetch(new Request("http://localhost/books"));
 * assertEquals(await first.json(), ["Emma"]);
 * const headers = { "if-none-match": first.headers.get("etag")! };
 * const second = await app.fetch(new Request("http://localhost/books", { headers }));
 * assertEquals([second.status, await second.text()], [304, ""]);
 * ```
 *
 * @category Middleware
 */
export function etag(): Middleware<unknown> {
  return async (request, next) => {
    const response = await next(request);
    const { method, route } = request;
    if (response.status !== 200 || (method !== "GET" && method !== "HEAD")) return response;
    // The body of a route for HEAD is not that of a GET.
    if (route?.method === "HEAD") return response;
    const context = contextOf(request);
    if (response !== context.bufferedReply) return response;
    if (/\bno-store\b/i.test(response.headers.get("cache-control") ?? "")) return response;
    const { taggedReply } = await load(() => import("../http/files/conditional.ts"));
    return context.bufferedReply = context.ownReply = await taggedReply(response, request.headers);
  };
}
