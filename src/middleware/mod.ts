/**
 * Middleware for any application: security headers, HTTPS only, request ids, a timeout, and entity
 * tags.
 *
 * @example All of them
 * ```ts
 * import { App } from "@webfw/core";
 * import { etag, requestId, secureHeaders, timeout } from "@webfw/core/middleware";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * for (const middleware of [requestId(), secureHeaders(), etag(), timeout("10s")]) app.middleware(middleware);
 * app.get("/", async () => "Hello");
 * const { headers } = await app.fetch(new Request("http://localhost/"));
 * assertEquals(headers.get("x-content-type-options"), "nosniff");
 * ```
 *
 * @module
 */

export { etag } from "./etag.ts";
export { httpsOnly } from "./https_only.ts";
export { requestId, type RequestIdOptions } from "./request_id.ts";
export { secureHeaders, type SecureHeadersOptions } from "./secure_headers.ts";
export { timeout } from "./timeout.ts";
