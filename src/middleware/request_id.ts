/** The middleware of request ids. */
import { isToken } from "../http/headers.ts";
import { contextOf } from "../http/request.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * The options of {@linkcode requestId}.
 *
 * @category Middleware
 */
export interface RequestIdOptions {
  /**
   * The header of the id.
   *
   * @default {"x-request-id"}
   */
  header?: string;
}

const OPTIONS: OptionNames<RequestIdOptions> = { header: true };

/** Safe in logs and headers: base64 and the ids of AWS, among others. */
const ID = /^[\w.:/+=~@-]{1,128}$/;

/**
 * Sends `request.id` with each reply. From a trusted proxy (`trustProxy`), the id is that of the
 * same header of the request: at most 128 letters, digits and `.:/+=~@_-`. Ids of other clients are
 * ignored.
 *
 * Add it first: an id that was read before does not change.
 *
 * @example The id in a reply
 * ```ts
 * import { App } from "@webfw/core";
 * import { requestId } from "@webfw/core/middleware";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.middleware(requestId());
 * app.get("/", async (request) => request.id);
 * const response = await app.fetch(new Request("http://localhost/"));
 * assertEquals(response.headers.get("x-request-id"), await response.json());
 * ```
 *
 * @category Middleware
 */
export function requestId(options: RequestIdOptions = {}): Middleware<unknown> {
  checkOptions(options, OPTIONS, "make requestId()");
  const { header = "x-request-id" } = options;
  if (typeof header !== "string" || !isToken(header)) {
    throw new TypeError(`Cannot make requestId(): "header" must be the name of a header, got ${quote(header)}`);
  }
  return async (request, next) => {
    const context = contextOf(request);
    if (context.id === undefined && context.forwarded) {
      const sent = request.headers.get(header);
      if (sent !== null && ID.test(sent)) context.id = sent;
    }
    const response = await next(request);
    response.headers.set(header, request.id);
    return response;
  };
}
