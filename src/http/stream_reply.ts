import { accepts } from "@std/http/negotiation";
import { describeError, log } from "../log.ts";
import { stringify } from "./json.ts";
import { contextOf, type HttpRequest } from "./request.ts";
import { HTTPError } from "../errors.ts";
import { streamProgress } from "./after_response.ts";

/** The body of a reply that is made while it is sent: pulled by the client's reading, so that nothing piles up. */

/** What a source gives: a value, or its end. */
export interface NextValue {
  readonly done?: boolean | undefined;
  readonly value?: unknown;
}

/** What a body is made of, one value after another. */
export interface ValueSource {
  /** The next value. */
  next(): Promise<NextValue>;
  /** Nothing more is wanted. */
  return?(): Promise<unknown>;
}

/** Turns a value into bytes. */
export type Encode = (value: unknown) => Uint8Array;

/** Sends what a source gives. The source is told when nothing more is wanted: at a failure, when the client goes or the server stops. */
export class ReplyStream implements UnderlyingDefaultSource<Uint8Array> {
  readonly #source: ValueSource;
  readonly #stopping: AbortSignal | undefined;
  readonly #stop = (): void => {
    this.#controller?.close();
    void this.end();
  };
  #encode: Encode | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The first value, where it was asked for before the body was. */
  #ahead: Promise<NextValue> | undefined;
  /** Whether the source is making a value. */
  #isBusy = false;
  /** Whether the source has ended by itself, and is not to be told. */
  #hasEnded = false;
  #isOver = false;
  #ended: Promise<void> | undefined;

  /**
   * Takes a source, of which nothing is asked before the client reads.
   *
   * @param source What to send.
   * @param encode Turns values into bytes. It can be told later, by the first value.
   * @param stopping Tells when the server stops: the body ends then. Without it the body is sent to its own end.
   */
  constructor(source: ValueSource, encode: Encode | undefined, stopping?: AbortSignal) {
    this.#source = source;
    this.#stopping = stopping;
    this.#encode = encode;
  }

  /**
   * The first value, which is sent all the same.
   *
   * @param patience How long to wait for it, in milliseconds.
   * @param encoderOf Tells by it how values become bytes, now or when it comes.
   * @returns What the source gave; undefined where it gives nothing for so long.
   * @throws {HTTPError} With 503, when the server stops in the meantime. What the source throws is thrown, too.
   */
  async first(
    patience: number,
    encoderOf: (value: unknown) => Encode,
  ): Promise<NextValue | undefined> {
    const quiet = Promise.withResolvers<undefined>();
    const stopped = Promise.withResolvers<never>();
    const stop = () => stopped.reject(new HTTPError(503, "The server stops"));
    const timer = setTimeout(() => quiet.resolve(undefined), patience);
    this.#stopping?.addEventListener("abort", stop);
    if (this.#stopping?.aborted) stop();
    try {
      this.#ahead = this.#next().then((result) => {
        if (!result.done) this.#encode = encoderOf(result.value);
        return result;
      });
      return await Promise.race([stopped.promise, this.#ahead, quiet.promise]);
    } catch (error) {
      void this.end();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#stopping?.removeEventListener("abort", stop);
    }
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    if (this.#stopping?.aborted) this.#stop();
    else this.#stopping?.addEventListener("abort", this.#stop);
  }

  /** The client takes: it is given the next value that has any bytes. */
  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const result = await (this.#ahead ?? this.#next());
        this.#ahead = undefined;
        if (this.#isOver) return;
        if (result.done) break;
        const bytes = this.#encode!(result.value);
        if (bytes.length === 0) continue;
        streamProgress.chunks++;
        return controller.enqueue(bytes);
      }
      controller.close();
      this.#leave();
    } catch (error) {
      if (this.#isOver) return;
      // The status has been sent: all that is left is to break the reply off, so that it is not taken for whole.
      log("error", "A streamed reply broke off", { error: describeError(error) });
      controller.error(error);
      void this.end();
    }
  }

  /** The client has gone. */
  cancel(): Promise<void> {
    return this.end();
  }

  /**
   * Tells the source that nothing more is wanted, whether anything was read or not. Doing it again changes nothing.
   *
   * @returns Settles when the source has ended. One that is making a value is not waited for: it may never have it.
   */
  end(): Promise<void> {
    if (this.#isOver) return this.#ended ?? Promise.resolve();
    this.#leave();
    return this.#ended = this.#release();
  }

  async #next(): Promise<NextValue> {
    this.#isBusy = true;
    try {
      const result = await this.#source.next();
      this.#hasEnded = result.done === true;
      return result;
    } catch (error) {
      this.#hasEnded = true;
      throw error;
    } finally {
      this.#isBusy = false;
    }
  }

  async #release(): Promise<void> {
    const isBusy = this.#isBusy;
    const returned = this.#return();
    if (!isBusy) await returned;
  }

  async #return(): Promise<void> {
    try {
      if (!this.#hasEnded) await this.#source.return?.();
    } catch (error) {
      log("error", "The source of a streamed reply failed to end", { error: describeError(error) });
    }
  }

  #leave(): void {
    this.#isOver = true;
    this.#stopping?.removeEventListener("abort", this.#stop);
  }
}

/** Replies that are made while they are sent. */

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
  contextOf(request).addCleanup(() => stream.end());
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
