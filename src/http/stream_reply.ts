/** Replies that are made while they are sent. */
import { accepts } from "@std/http/negotiation";
import { log } from "../log.ts";
import { stringify } from "./json.ts";
import { type Encode, ReplyStream, type ValueSource } from "./reply_stream.ts";
import { exchangeOf, type HttpRequest } from "./request.ts";

/** Gives the signal that is aborted when the server stops; streams end then. */
export type Stopping = () => AbortSignal;

/** Bytes of any kind. */
const BYTES = "application/octet-stream";

/** Lines of JSON, under the name of its specification and under the one that came before; the first unless a client asks. */
const LINES = ["application/jsonl", "application/x-ndjson"] as const;

/**
 * How long a reply waits for its first value, in milliseconds. Clients and proxies wait longer for the head of a reply, and what
 * can be known to have failed at all, a query or a refused connection, mostly is known by then.
 */
const FIRST_VALUE_MS = 5_000;

const encoder = new TextEncoder();

/**
 * A reply of the values of an async iterable: bytes as they are, any other value as one line of JSON.
 *
 * The reply begins with the first value, which tells the content type; an error before it is an error reply. Where nothing has
 * come after five seconds, the reply begins all the same, since only then the server hears of a client that goes: it is announced
 * as lines of JSON, or as bytes where the client prefers those. An error then breaks it off, as it does after the first value.
 *
 * @param source What to send.
 * @param status The status.
 * @param request Whose reply it is.
 * @param stopping Tells when the server stops.
 * @throws {HTTPError} With 503, when the server stops before the first value. What the source throws before it is thrown, too.
 */
export async function iterableReply(
  source: AsyncIterable<unknown>,
  status: number,
  request: HttpRequest,
  stopping: Stopping,
): Promise<Response> {
  const stream = new ReplyStream(source[Symbol.asyncIterator](), undefined, stopping());
  endWith(request, stream);
  let announced: string | undefined = undefined;
  const first = await stream.first(FIRST_VALUE_MS, (value) => {
    const isBytes = value instanceof Uint8Array;
    if (announced !== undefined && isBytes !== (announced === BYTES)) warnOfType(announced, request);
    return isBytes ? toBytes : toLine;
  });
  if (first && !first.done && first.value instanceof Uint8Array) return replyOf(stream, status, BYTES);
  const offers = first ? LINES : [...LINES, BYTES];
  announced = accepts(request.raw, ...offers) ?? LINES[0];
  const reply = replyOf(stream, status, announced);
  reply.headers.set("vary", "accept");
  return reply;
}

/**
 * A reply of a stream of bytes. It begins at once.
 *
 * @param source What to send.
 * @param status The status.
 * @param request Whose reply it is.
 * @param stopping Tells when the server stops.
 * @throws {TypeError} When the stream is being read.
 */
export function byteStreamReply(
  source: ReadableStream<unknown>,
  status: number,
  request: HttpRequest,
  stopping: Stopping,
): Response {
  const stream = new ReplyStream(valuesOf(source), toBytes, stopping());
  endWith(request, stream);
  return replyOf(stream, status, BYTES);
}

/** The values of a stream. Its own iterator would not let it be cancelled while a value is waited for. */
export function valuesOf(source: ReadableStream<unknown>): ValueSource {
  const reader = source.getReader();
  return {
    next: () => reader.read(),
    return: () => reader.cancel(),
  };
}

function replyOf(stream: ReplyStream, status: number, type: string): Response {
  const headers = new Headers({ "content-type": type });
  // Browsers look into bytes of an unknown type, and may run them as a page.
  if (type === BYTES) headers.set("x-content-type-options", "nosniff");
  return new Response(new ReadableStream(stream, { highWaterMark: 0 }), { status, headers });
}

/** What was made for the source is cleaned up after it has ended, and it ends also where a middleware sends another reply. */
function endWith(request: HttpRequest, stream: ReplyStream): void {
  exchangeOf(request).openCompletion().addCleanup(() => stream.end());
}

function warnOfType(announced: string, request: HttpRequest): void {
  const cure = announced === BYTES ? "yield sooner" : "yield an empty Uint8Array at once, or return a ReadableStream";
  log("warn", `A streamed reply was announced as ${announced} before its first value, which is not: ${cure}`, {
    route: request.route?.path,
  });
}

/** Bytes are sent as they are. */
export const toBytes: Encode = (value) => {
  if (value instanceof Uint8Array) return value;
  const got = value === null ? "null" : typeof value;
  throw new TypeError(
    `Cannot stream the value: a stream of bytes goes on with bytes, got ${got}; encode text by a TextEncoderStream`,
  );
};

const toLine: Encode = (value) => encoder.encode(stringify(value) + "\n");
