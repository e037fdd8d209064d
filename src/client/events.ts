/** Server-sent events that resume after a broken connection. Loaded late. */
import type { Values } from "./arguments.ts";
import { pause, pauseAfter, retryAfterOf } from "./retry.ts";
import type { ProblemError } from "./problem.ts";
import type { Sender } from "./sender.ts";
import { closable, type Cursor, eventsOf } from "./streams.ts";
import type { ClientEvent, TextEventOptions } from "./types.ts";

/**
 * Connects with the first read.
 *
 * @throws {TypeError} If an option is unknown.
 * @throws {RangeError} If a timeout is not a positive number.
 */
export function listen(
  sender: Sender,
  path: string,
  values: Values = {},
  options: TextEventOptions = {},
): AsyncIterableIterator<ClientEvent<unknown>> {
  // Three heartbeats of a server, which sends one every 15 s by default.
  const { idleTimeout = 45_000 } = options;
  const others = ["idleTimeout", "raw"];
  const call = sender.begin(options, `listen to ${path}`, others);
  call.isStreaming = true;
  // Each connection has a timeout, not the stream.
  call.settle();
  const { signal } = call;
  const cursor: Cursor = {};
  let hasOpened = false;
  let retryAfter: number | undefined;

  /** Undefined if another attempt may succeed. */
  const open = async (): Promise<Response | undefined> => {
    const attempt = sender.begin({ ...options, signal }, "", others, idleTimeout);
    const fixed = { accept: "text/event-stream", "last-event-id": toHeader(cursor.id) };
    retryAfter = undefined;
    try {
      return await attempt.until(sender.send({ method: "GET", path, values, options, fixed }, attempt));
    } catch (error) {
      if (attempt.signal.aborted) return undefined;
      const { status, headers } = error as Partial<ProblemError>;
      if (headers) retryAfter = retryAfterOf(headers);
      // 408, 425 and 429 ask for another attempt (RFC 9110, RFC 8470, RFC 6585). A TypeError is a
      // failed `fetch`, also in a function for headers; there, before the first connection, it is a
      // mistake.
      const mayWork = status
        ? status >= 500 || [408, 425, 429].includes(status)
        : error instanceof TypeError && (attempt.isSent || hasOpened);
      if (!mayWork) throw error;
      return undefined;
    } finally {
      attempt.release();
    }
  };

  const read = async function* (): AsyncGenerator<ClientEvent<unknown>, void> {
    try {
      for (let failures = 0; !signal.aborted; failures++) {
        const response = await open();
        if (response) {
          if (response.status === 204) return;
          const type = response.headers.get("content-type") ?? "";
          if (!/^text\/event-stream\b/i.test(type)) {
            response.body?.cancel().catch(() => {});
            throw new TypeError(`Cannot listen to ${path}: the reply is "${type}"`);
          }
          hasOpened = true;
          const opened = performance.now();
          for await (const event of eventsOf(response.body, call, cursor, options.raw, idleTimeout)) {
            failures = 0;
            yield event;
            if (signal.aborted) return;
          }
          // A connection of 30 s is no failure, even without an event.
          if (performance.now() - opened >= 30_000) failures = 0;
        }
        await pause(pauseAfter(failures, cursor.retry, retryAfter), call).catch(() => {});
      }
    } finally {
      call.release();
    }
  };
  return closable(read(), call);
}

/** As bytes of UTF-8, as HTML requires. */
function toHeader(id: string | undefined): string | undefined {
  return id && encodeURIComponent(id).replace(/%(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
}
