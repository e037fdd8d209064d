/** The middleware that redirects HTTP to HTTPS. */
import { HTTPError } from "../base/errors.ts";
import { quote } from "../base/options.ts";
import { redirect } from "../http/reply.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * Redirects GET and HEAD requests over HTTP to HTTPS, with a 308 that no cache may store. Others
 * get a 403: their body was readable on the network, and the author of the client should notice.
 *
 * Behind a proxy that terminates TLS, the application needs `trustProxy`, else the redirect never
 * ends. `readyUrl` is answered before any middleware.
 *
 * @param host Where the redirect leads, with a port if it is not 443. It is never that of the
 *   request: an attacker could make a cache store a redirect to another site.
 * @throws {TypeError} If it is no host.
 *
 * @example A redirect
 * ```ts
 * import { App } from "@webfw/core";
 * import { httpsOnly } from "@webfw/core/middleware";
 * import { TestClient } from "@webfw/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App({ hosts: ["books.example"] });
 * app.middleware(httpsOnly("books.example"));
 * app.get("/books", async () => ["Emma"]);
 * await using client = new TestClient(app, { base: "http://books.example" });
 * const { status, headers } = await client.get("/books?page=2");
 * assertEquals([status, headers.get("location")], [308, "https://books.example/books?page=2"]);
 * ```
 *
 * @category Middleware
 */
export function httpsOnly(host: string): Middleware<unknown> {
  const origin = typeof host === "string" ? URL.parse(`https://${host}`) : null;
  if (!origin || origin.href !== `https://${origin.host}/` || origin.hostname !== host.replace(/:\d+$/, "")) {
    const cure = "give a host name in lower case, such as books.example";
    throw new TypeError(`Cannot make httpsOnly(): ${quote(String(host))} is no host, ${cure}`);
  }
  return async (request, next) => {
    if (request.url.protocol === "https:") return await next(request);
    // A proxy could serve a stored redirect over HTTPS, too: it would never end.
    request.replyHeaders.set("cache-control", "no-store");
    if (request.method !== "GET" && request.method !== "HEAD") throw new HTTPError(403, "Send this request over HTTPS");
    return redirect(`${origin.origin}${request.basePath}${request.path}${request.url.search}`, 308);
  };
}
