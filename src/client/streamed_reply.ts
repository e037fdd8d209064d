/** Reads replies that are streams: of events, and of lines of JSON. */
import type { CallSignal } from "./call_signal.ts";

/** The longest delay of a timer of the platform. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Why a stream ends that its program leaves. */
export const LEFT: unique symbol = Symbol();

/** The most characters of one event or line. */
const MAX_ITEM = 16 * 1024 * 1024;

/**
 * The text of a reply, as it comes. It is read only when a part is asked for, so that a program
 * that is slow makes the server wait.
 *
 * @param body The body of the reply.
 * @param call Ends the text.
 * @param idleTimeout The silence after which the text ends, in milliseconds. With it, the text also
 * ends where the connection breaks. Without it, that is an error, and the call ends with the text.
 */
export async function* textOf(
  body: ReadableStream<Uint8Array> | null,
  call: CallSignal,
  idleTimeout?: number,
): AsyncGenerator<string> {
  // It is made here, so that `until` can be ended by `abort`.
  const { signal } = call;
  const reader = (body ?? new Blob().stream()).getReader();
  const decoder = new TextDecoder();
  const cancel = () => reader.cancel().catch(() => {});
  try {
    for (;;) {
      // A read that waits is answered with the end then.
      const timer = idleTimeout && setTimeout(cancel, Math.min(idleTimeout, MAX_TIMER_MS));
      const { done, value } = await call.until(reader.read()).finally(() => clearTimeout(timer));
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (!idleTimeout && !signal.aborted) throw error;
  } finally {
    await cancel();
    if (!idleTimeout) call.release();
  }
}

/**
 * The values of a stream. `return` ends what `next` waits for; that of a generator would wait, too.
 *
 * @param values The values. They end with the call.
 * @param call The call.
 * @param body The body of the reply, if there is one.
 */
export function closable<Value>(
  values: AsyncGenerator<Value, void>,
  call: CallSignal,
  body?: ReadableStream | null,
): AsyncIterableIterator<Value> {
  return {
    next: () => values.next(),
    return() {
      call.abort(LEFT);
      // What was not read has not begun, and does not end by itself.
      call.release();
      body?.cancel().catch(() => {});
      return values.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Parses JSON of a stream or a socket.
 *
 * @throws {SyntaxError} If it is not JSON.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError("Cannot read the data: it is not JSON, give { raw: true } for texts");
  }
}

/**
 * Bounds what is kept of an event or a line.
 *
 * @throws {RangeError} If it is too long.
 */
export function checkLength(length: number): void {
  if (length > MAX_ITEM) throw new RangeError(`Cannot read the stream: an item is longer than ${MAX_ITEM} characters`);
}
