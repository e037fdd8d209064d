/** The error of using a WebSocket that is closed. */

/**
 * Tells that a WebSocket is closed: `send()` rejects with it, and it is the reason of the socket's `signal`.
 *
 * A handler need not catch it. One that ends with it ends as one that returned: the client has gone, and nothing failed.
 *
 * @example What there is to know of the end
 * ```ts
 * import { WebSocketClosedError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new WebSocketClosedError(1001, "The tab was closed");
 * assertEquals([error.code, error.reason], [1001, "The tab was closed"]);
 * assertEquals(error.message, "The WebSocket is closed, with code 1001");
 * ```
 */
export class WebSocketClosedError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "WebSocketClosedError";
  /** Why, as a number of RFC 6455, section 7.4. 1005: the client gave none; 1006: the connection broke off. */
  readonly code: number;
  /** Why, in words. Those of a client are not to be trusted. */
  readonly reason: string;

  /**
   * Makes the error.
   *
   * @param code Why, as a number.
   * @param reason Why, in words.
   */
  constructor(code: number, reason: string) {
    super(`The WebSocket is closed, with code ${code}`);
    this.code = code;
    this.reason = reason;
  }
}
