/** The middleware of entity tags. */
import { load } from "../base/async_context.ts";
import { contextOf } from "../http/request.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * Adds an `ETag` to replies, and answers 304 to a client that has this version (`If-None-Match`,
 * RFC 9110, section 13.1.2). The handler still runs: this saves bytes, not work.
 *
 * The tag is a strong hash of the content, for JSON, `text()` and `html()` with status 200 and at
 * most 1 MiB, to GET and HEAD. Other replies are left unchanged: streams, a `Response` of the
 * program, `Cache-Control: no-store`, and those with a tag, such as files.
 *
 * Add it before middleware that changes bodies or `Cache-Control`, so that it runs after them.
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
    // A route for HEAD has no body of a GET.
    if (route?.method === "HEAD") return response;
    const context = contextOf(request);
    if (response !== context.reply.buffered) return response;
    if (/\bno-store\b/i.test(response.headers.get("cache-control") ?? "")) return response;
    const { taggedReply } = await load(() => import("../http/files/conditional.ts"));
    return context.reply.buffered = context.reply.setOwned(await taggedReply(response, request.headers));
  };
}
