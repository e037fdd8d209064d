/** The middleware of timeouts. */
import { type Duration, toMilliseconds } from "../base/options.ts";
import { HTTPError } from "../base/errors.ts";
import { withDeadline, withOwnDeadline } from "../http/deadline.ts";
import { contextOf } from "../http/request.ts";
import { WEBSOCKET } from "../http/websocket/handshake.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * Limits the time to the head of a reply. Then the client gets a 503, and `request.signal` aborts.
 * The handler is not stopped: pass the signal to its operations. Its late reply is dropped, and its
 * dependencies are cleaned up when it has ended.
 *
 * The body of a streamed reply can take longer, and so can a WebSocket. A signal that an outer
 * middleware has read does not abort.
 *
 * @param duration The time, plus a sixteenth at most: all requests share one timer.
 * @throws {RangeError} If it is not a positive duration.
 *
 * @example Ten milliseconds
 * ```ts
 * import { App } from "@webfw/core";
 * import { timeout } from "@webfw/core/middleware";
 * import { TestClient } from "@webfw/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.middleware(timeout("10ms"));
 * app.get("/slow", async (request) => {
 *   await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
 * });
 * await using client = new TestClient(app);
 * const { status, detail } = await client.get("/slow").problem();
 * assertEquals([status, detail], [503, "The reply took too long"]);
 * ```
 *
 * @category Middleware
 */
export function timeout(duration: Duration): Middleware<unknown> {
  const ms = toMilliseconds(duration, "the timeout");
  return async (request, next) => {
    if (request.route?.method === WEBSOCKET) return await next(request);
    const context = contextOf(request);
    context.makeAbortable();
    const late = (): HTTPError => {
      const error = new HTTPError(503, "The reply took too long");
      // Most handlers then throw this reason, which is not logged.
      context.abort(error);
      return error;
    };
    // The shared timer does not keep a program without a server alive.
    const withTimer = context.connection === undefined ? withOwnDeadline : withDeadline;
    return await withTimer(next(request), ms, late, (cause) => cause);
  };
}
