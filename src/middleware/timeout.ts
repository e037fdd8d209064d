/** A middleware that bounds the time to a reply. */
import { type Duration, toMilliseconds } from "../base/options.ts";
import { HTTPError } from "../base/errors.ts";
import { withDeadline, withOwnDeadline } from "../http/deadline.ts";
import { contextOf } from "../http/request.ts";
import { WEBSOCKET } from "../http/websocket/handshake.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * Bounds the time until a reply begins. Then the client gets a 503, and `request.signal` is
 * aborted. The handler itself is not stopped: pass the signal to what it waits for. Its late reply
 * is dropped, and its dependencies are cleaned up when it has ended.
 *
 * The body of a streamed reply can take longer, and so can a WebSocket. The signal that a
 * middleware around this one has read is not aborted.
 *
 * @param duration The time. All requests share one timer, so that a reply can take a sixteenth
 * longer.
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
      // As the reason, it becomes the late error of most handlers, and is not logged.
      context.abort(error);
      return error;
    };
    // The shared timer does not keep a program alive; without a server, nothing else may.
    const withTimer = context.connection === undefined ? withOwnDeadline : withDeadline;
    return await withTimer(next(request), ms, late, (cause) => cause);
  };
}
