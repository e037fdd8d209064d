/** Reads lines of JSON. Loaded with the first reply that has them. */
import type { CallSignal } from "./call_signal.ts";

/** The longest line that is taken, in UTF-16 code units. */
const MAX_LINE = 16 * 1024 * 1024;

/**
 * The values of a reply of lines of JSON, one for each line. Its `return` cancels the body, also
 * while a value is waited for.
 *
 * @param response The reply.
 * @param call The call, which ends with the lines.
 */
export function linesOf(response: Response, call: CallSignal): AsyncIterableIterator<unknown> {
  const reader = (response.body ?? new Blob().stream()).getReader();
  const values = read(reader);
  const close = async () => {
    call.release();
    await reader.cancel();
  };
  return {
    async next() {
      try {
        const entry = await call.until(values.next());
        if (entry.done) call.release();
        return entry;
      } catch (error) {
        await close().catch(() => {});
        throw error;
      }
    },
    async return(value) {
      await close();
      return { done: true, value };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* read(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = "";
  for (let isDone = false; !isDone;) {
    const chunk = await reader.read();
    isDone = chunk.done;
    const lines = (decoder.decode(chunk.value, { stream: !isDone }) + (isDone ? "\n" : "")).split("\n");
    for (const [index, part] of lines.entries()) {
      rest += part;
      if (rest.length > MAX_LINE) {
        throw new RangeError(`Cannot read the lines of JSON: one has more than ${MAX_LINE} characters`);
      }
      if (index === lines.length - 1) break;
      const line = rest;
      rest = "";
      if (line.trim() !== "") yield JSON.parse(line);
    }
  }
}
