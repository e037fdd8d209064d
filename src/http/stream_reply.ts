/** Replies that are made while they are sent. Pulled by the client's reading, so that nothing piles up. */
import { describeError, log } from "../log.ts";
import { stringify } from "./json.ts";

/** Gives the signal that is aborted when the server stops; streams end then. */
export type Stopping = () => AbortSignal;

type Encode = (value: unknown) => Uint8Array;

const encoder = new TextEncoder();

/**
 * A reply of the values of an async iterable: bytes as they are, any other value as one line of JSON.
 *
 * The first value is awaited, since it tells the content type; an error before it is an ordinary error reply.
 *
 * @param source What to send.
 * @param status The status.
 * @param stopping Tells when the server stops.
 */
export async function iterableReply(
  source: AsyncIterable<unknown>,
  status: number,
  stopping: Stopping,
): Promise<Response> {
  const iterator = source[Symbol.asyncIterator]();
  const first = await iterator.next();
  const isBytes = !first.done && first.value instanceof Uint8Array;
  const type = isBytes ? "application/octet-stream" : "application/jsonl";
  const body = toStream(iterator, isBytes ? toBytes : toLine, stopping(), first);
  return new Response(body, { status, headers: { "content-type": type } });
}

/**
 * A reply of a stream of bytes.
 *
 * @param source What to send.
 * @param status The status.
 * @param stopping Tells when the server stops.
 */
export function byteStreamReply(source: ReadableStream<unknown>, status: number, stopping: Stopping): Response {
  const body = toStream(source[Symbol.asyncIterator](), toBytes, stopping());
  return new Response(body, { status, headers: { "content-type": "application/octet-stream" } });
}

function toStream(
  iterator: AsyncIterator<unknown>,
  encode: Encode,
  stopping: AbortSignal,
  first?: IteratorResult<unknown>,
): ReadableStream<Uint8Array> {
  let ahead = first;
  let stop = () => {};
  let isOver = false;
  const end = async () => {
    isOver = true;
    stopping.removeEventListener("abort", stop);
    await iterator.return?.();
  };
  return new ReadableStream({
    start(controller) {
      // A source that waits for its next value cannot be told; the reply ends without it.
      stop = () => {
        controller.close();
        end().catch(() => {});
      };
      if (stopping.aborted) stop();
      else stopping.addEventListener("abort", stop);
    },
    async pull(controller) {
      try {
        const { done, value } = ahead ?? await iterator.next();
        ahead = undefined;
        if (isOver) return;
        if (!done) return controller.enqueue(encode(value));
        controller.close();
        stopping.removeEventListener("abort", stop);
      } catch (error) {
        if (isOver) return;
        // The status has been sent: all that is left is to break the reply off, so that it is not taken for whole.
        log("error", "A streamed reply broke off", { error: describeError(error) });
        controller.error(error);
        await end();
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
}

function toBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError("Cannot stream the value: a reply that starts with bytes goes on with bytes");
}

function toLine(value: unknown): Uint8Array {
  return encoder.encode(stringify(value) + "\n");
}
