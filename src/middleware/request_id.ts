/** A middleware that sends the id of each request with its reply. */
import { checkOptions, type OptionNames, quote } from "../options.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * Options of {@linkcode requestId}.
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

/**
 * Sends `request.id` with each reply.
 *
 * @param options The name of the header.
 * @throws {TypeError} If an option is unknown, or the header has no valid name.
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
  const header = checkName(options.header ?? "x-request-id");
  return async (request, next) => {
    const response = await next(request);
    response.headers.set(header, request.id);
    return response;
  };
}

function checkName(header: string): string {
  try {
    return new Headers([[header, ""]]).keys().next().value!;
  } catch {
    throw new TypeError(`Cannot make requestId(): "header" must be the name of a header, got ${quote(header)}`);
  }
}
