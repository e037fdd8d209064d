/**
 * Streams of events that go on where they were when the connection breaks. Loaded with the first
 * one.
 */
import type { Values } from "./address.ts";
import { EventParser } from "./event_parser.ts";
import { LONGEST_MS, pauseAfter, retryAfterOf } from "./pauses.ts";
import type { ProblemError } from "./problem.ts";
import type { Sender } from "./sender.ts";
import { closable, textOf } from "./streamed_reply.ts";
import { eventsOf } from "./streamed_values.ts";
import type { ClientEvent, TextEventOptions } from "./types.ts";

/** Servers send a heartbeat every 15 s, unless they were told otherwise. */
const IDLE_TIMEOUT_MS = 45_000;

/**
 * Listens to a route that sends events. The first connection opens with the first read.
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
  const { idleTimeout = IDLE_TIMEOUT_MS } = options;
  const others = ["idleTimeout", "raw"];
  const call = sender.begin(options, `listen to ${path}`, others);
  call.isStreaming = true;
  // The time limit is that of each connection.
  call.settle();
  const { signal } = call;
  const parser = new EventParser();
  let hasOpened = false;
  let retryAfter: number | undefined;

  /**
   * Opens a connection, within the timeout or else the longest silence. Undefined if that failed
   * and may be tried again; what another attempt would not mend is thrown.
   */
  const open = async (): Promise<Response | undefined> => {
    const attempt = sender.begin({ ...options, signal }, "", others, idleTimeout);
    const fixed = { accept: "text/event-stream", "last-event-id": toHeader(parser.id) };
    retryAfter = undefined;
    try {
      return await attempt.until(sender.send({ method: "GET", path, values, options, fixed }, attempt));
    } catch (error) {
      if (attempt.signal.aborted) return undefined;
      const { status, headers } = error as Partial<ProblemError>;
      if (headers) retryAfter = retryAfterOf(headers);
      // 408, 425 and 429 ask for another attempt (RFC 9110, RFC 8470, RFC 6585), other 4xx for
      // none. A function for headers that has worked may fail as it asks for a token while the
      // network is down. Before that it is a mistake. `fetch` fails by a TypeError.
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
          checkType(response, path);
          hasOpened = true;
          parser.begin();
          const opened = performance.now();
          for await (const event of eventsOf(textOf(response.body, call, idleTimeout), parser, options.raw)) {
            failures = 0;
            yield event;
            if (signal.aborted) return;
          }
          // A connection that was open for so long was no failure, even if it brought nothing.
          if (performance.now() - opened >= LONGEST_MS) failures = 0;
        }
        await call.pause(pauseAfter(failures, parser.retry, retryAfter)).catch(() => {});
      }
    } finally {
      call.release();
    }
  };
  return closable(read(), call);
}

/**
 * Checks that a reply is a stream of events.
 *
 * @throws {TypeError} If it is something else. Its body is not read.
 */
function checkType({ headers, body }: Response, path: string): void {
  const type = headers.get("content-type") ?? "";
  if (/^text\/event-stream\b/i.test(type)) return;
  body?.cancel().catch(() => {});
  throw new TypeError(`Cannot listen to ${path}: the reply is "${type}"`);
}

/** Writes an id into a header, whose characters are bytes: UTF-8, as the standard says. */
function toHeader(id: string | undefined): string | undefined {
  const toByte = (_: string, hex: string) => String.fromCharCode(parseInt(hex, 16));
  return id && encodeURIComponent(id).replace(/%(..)/g, toByte);
}
