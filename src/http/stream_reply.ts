/** Streamed replies: the values of an async iterable, or the bytes of a stream. */
import { accepts } from "@std/http/negotiation";
import { HTTPError } from "../base/errors.ts";
import { stringify } from "./json.ts";
import { iteratorOf } from "./replies/model.ts";
import { type Chunk, IteratorSource, type NextValue, PullStream, type StreamKind } from "./pull_stream.ts";
import type { RequestContext } from "./context.ts";

/** The signal that aborts when the server stops. Streams end then. */
export type Stopping = () => AbortSignal;

const REPLY: StreamKind = { name: "streamed reply", readsAhead: false, breaksOff: true };

const BYTES = "application/octet-stream";

/** The media type of JSON lines, and the older one. The first is the default. */
const LINES = ["application/jsonl", "application/x-ndjson"] as const;

/** The wait for the first value. Most failures of a query or a connection are known by then. */
const FIRST_VALUE_MS = 5_000;

const encoder = new TextEncoder();

/**
 * Streams an async iterable: bytes unchanged, other values as lines of JSON.
 *
 * The first value decides the content type; an error before it becomes an error reply. Without a
 * value after five seconds the reply begins anyway, because a server notices only then that a
 * client has disconnected: as JSON lines, or as bytes if the client prefers them. A later error
 * breaks the reply off.
 *
 * @param isLines Whether all values are sent as JSON lines, bytes too.
 */
export async function iterableReply(
  source: AsyncIterable<unknown>,
  status: number,
  context: RequestContext,
  stopping: Stopping,
  isLines = false,
): Promise<Response> {
  let announced: string | undefined = undefined;
  let encode: ((value: unknown) => Chunk) | undefined = isLines ? toLine : undefined;
  const values = new IteratorSource(source[Symbol.asyncIterator](), {
    kind: REPLY,
    encode(value) {
      encode ??= encoderFor(value, announced, context);
      return encode(value);
    },
  });
  const stopped = stopping();
  const stream = new PullStream(values, REPLY, stopped);
  stream.bindTo(context);
  let first: NextValue | undefined;
  try {
    first = await firstValue(values, stopped);
  } catch (error) {
    void stream.close();
    throw error;
  }
  if (!isLines && first && !first.done && first.value instanceof Uint8Array) return replyOf(stream, status, BYTES);
  const offers = first || isLines ? LINES : [...LINES, BYTES];
  announced = accepts(context.raw, ...offers) ?? LINES[0];
  const reply = replyOf(stream, status, announced);
  reply.headers.set("vary", "accept");
  return reply;
}

export function byteStreamReply(
  source: ReadableStream<unknown>,
  status: number,
  context: RequestContext,
  stopping: Stopping,
  type: string = BYTES,
): Response {
  const stream = byteStream(source, stopping());
  stream.bindTo(context);
  return replyOf(stream, status, type, true);
}

/** Streams chunks, which must be bytes. Throws a TypeError if the source is locked. */
export function byteStream(source: ReadableStream<unknown>, stopping?: AbortSignal): PullStream {
  return new PullStream(new IteratorSource(iteratorOf(source), { kind: REPLY, encode: toBytes }), REPLY, stopping);
}

/** Resolves to undefined after the wait. Rejects with a 503 if the server stops. */
async function firstValue(values: IteratorSource, stopping: AbortSignal): Promise<NextValue | undefined> {
  const { promise: noValue, resolve, reject } = Promise.withResolvers<undefined>();
  const stop = () => reject(new HTTPError(503, "The server stops"));
  const timer = setTimeout(() => resolve(undefined), FIRST_VALUE_MS);
  stopping.addEventListener("abort", stop);
  if (stopping.aborted) stop();
  try {
    return await Promise.race([noValue, values.peek()]);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener("abort", stop);
  }
}

function replyOf(stream: PullStream, status: number, type: string, isBytes: boolean = type === BYTES): Response {
  const headers = new Headers({ "content-type": type });
  // Browsers sniff the type of bytes, and may run them as a page.
  if (isBytes) headers.set("x-content-type-options", "nosniff");
  // nginx would buffer the lines.
  else headers.set("x-accel-buffering", "no");
  return new Response(stream.toReadable(), { status, headers });
}

function encoderFor(first: unknown, announced: string | undefined, context: RequestContext): (value: unknown) => Chunk {
  const isBytes = first instanceof Uint8Array;
  if (announced !== undefined && isBytes !== (announced === BYTES)) warnOfType(announced, context);
  return isBytes ? toBytes : toLine;
}

function warnOfType(announced: string, context: RequestContext): void {
  const cure = announced === BYTES ? "yield sooner" : "yield an empty Uint8Array at once, or return a ReadableStream";
  const message = `A streamed reply was announced as ${announced} before its first value, which is not: ${cure}`;
  context.log("warn", message, { route: context.matched.info?.path });
}

function toBytes(value: unknown): Chunk {
  if (value instanceof Uint8Array) return value as Chunk;
  const got = value === null ? "null" : typeof value;
  throw new TypeError(
    `Cannot stream the value: a stream of bytes must continue with bytes, got ${got}; encode text by a TextEncoderStream`,
  );
}

function toLine(value: unknown): Chunk {
  return encoder.encode(stringify(value) + "\n");
}
