/** A stream within bounds: of its size, and of the time that each of its chunks may take. */
import { tooLarge } from "./body_refusal.ts";

type Chunk = Uint8Array<ArrayBuffer>;

/**
 * A stream that fails where its source goes beyond a bound.
 *
 * @param source What is read, whenever it is asked for. It is cancelled where the stream fails, or its reader goes.
 * @param size How many bytes it may have. It fails with 413 where there are more.
 * @param inTime Waits for a chunk, but not for ever.
 */
export function boundedStream(
  source: ReadableStream<Chunk>,
  size: number,
  inTime: <T>(reading: Promise<T>) => Promise<T>,
): ReadableStream<Chunk> {
  const reader = source.getReader();
  let total = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await inTime(reader.read());
        if (done) return controller.close();
        total += value.length;
        if (total > size) throw tooLarge(size);
        controller.enqueue(value);
      } catch (error) {
        reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
