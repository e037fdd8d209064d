import { HTTPError } from "../errors.ts";
import type { FormEntry } from "../schema/form_form.ts";
import { cutShort, refuseContentEncoding, tooLarge, tooSlow } from "./body_errors.ts";
import { mediaTypeOf, parseJson } from "./json.ts";
import { noteWait, withDeadline, withOwnDeadline } from "./deadline.ts";
import type { ResolvedLimits } from "./limits.ts";

/** A body's stream that can be read more than once: what has passed is kept, up to a bound. */

type Chunk = Uint8Array<ArrayBuffer>;

/** Gives any number of streams over one source. Each starts at the beginning, and pulls the source when it is ahead. */
export class BodyBuffer {
  readonly #reader: ReadableStreamDefaultReader<Chunk>;
  readonly #limit: number;
  #kept: Chunk[] = [];
  #keptSize = 0;
  /** How many chunks have passed; more than are kept, once the bound was met. */
  #passed = 0;
  #pending: Promise<Chunk | undefined> | undefined;
  #isCancelled = false;
  /** Why it was cut short, where a server that stops did it. */
  #cut: Error | undefined;
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers();

  /**
   * Takes a source.
   *
   * @param source The stream.
   * @param limit How many bytes are kept. A longer body can be read once.
   * @param owner Whose stop cuts the source short.
   */
  constructor(source: ReadableStream<Chunk>, limit: number, owner?: object) {
    this.#reader = source.getReader();
    this.#limit = limit;
    // A server that stops waits for what is still coming, but not long.
    noteWait(this.#end.promise, owner, tooSlow, (error) => {
      this.#cut = error;
      void this.cancel();
    });
  }

  /**
   * A stream over the whole source. It fails with a 413 where it needs what is not kept any more, and with a 400 where the source
   * breaks off.
   */
  open(): ReadableStream<Chunk> {
    let index = 0;
    return new ReadableStream({
      pull: async (controller) => {
        const chunk = await this.#at(index++);
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
    }, { highWaterMark: 0 });
  }

  /** Lets go of what has not been read: a server can hold up a connection for it. */
  async cancel(): Promise<void> {
    this.#isCancelled = true;
    this.#end.resolve();
    await this.#reader.cancel().catch(() => {});
  }

  #at(index: number): Promise<Chunk | undefined> | Chunk {
    if (index >= this.#passed) return this.#pending ??= this.#next();
    const chunk = this.#kept[index];
    if (chunk) return chunk;
    throw new HTTPError(413, `The body is larger than ${this.#limit} bytes, and can be read only once`);
  }

  async #next(): Promise<Chunk | undefined> {
    const { done, value } = await this.#reader.read().catch((cause) => {
      this.#end.resolve();
      throw cutShort(cause);
    });
    if (done) this.#end.resolve();
    // At the end the promise stays, and gives the end to whoever asks.
    if (done && !this.#isCancelled) return undefined;
    if (done) throw this.#cut ?? cutShort(new Error("Cannot read on: the body was let go"));
    this.#pending = undefined;
    this.#passed++;
    this.#keptSize += value.byteLength;
    if (this.#keptSize <= this.#limit) this.#kept.push(value);
    else this.#kept = [];
    return value;
  }
}

/** Reads the body of a request within the limits, and keeps it so that it can be read again in another form. */

type Bytes = Uint8Array<ArrayBuffer>;

/** Whose body it is. */
export interface BodyOwner {
  /** The platform's request. */
  readonly raw: Request;
  /** The application that takes it: a body that is still coming is cut short when that stops. */
  readonly app: object;
  /** Adds what is done when the reply has gone. */
  addCleanup(cleanup: () => unknown): void;
}

/** The body of one request. */
export class BodyReader {
  readonly #owner: BodyOwner;
  readonly #raw: Request;
  readonly #limits: ResolvedLimits;
  /** A request that came by no socket has a timer of its own, so that nothing outlives it. */
  readonly #isLocal: boolean;
  #bytes: Promise<Bytes> | undefined;
  #jsonText: Promise<string> | undefined;
  #form: Promise<readonly FormEntry[]> | undefined;
  #buffer: BodyBuffer | undefined;

  constructor(owner: BodyOwner, limits: ResolvedLimits, isLocal: boolean) {
    this.#owner = owner;
    this.#raw = owner.raw;
    this.#limits = limits;
    this.#isLocal = isLocal;
  }

  /** Whether there is none. No body comes by a connection without a header that tells of it; Deno makes a stream all the same. */
  get isEmpty(): boolean {
    const { headers, body } = this.#raw;
    if (headers.get("content-length") === "0" || body === null) return true;
    return !this.#isLocal && !headers.has("content-length") && !headers.has("transfer-encoding") &&
      !headers.has("content-type");
  }

  /** The body as bytes. */
  bytes(): Promise<Bytes> {
    return this.#bytes ??= this.#jsonText?.then((text) => new TextEncoder().encode(text)) ?? this.#readBytes();
  }

  /** The body as text, decoded as UTF-8. */
  text(): Promise<string> {
    return this.#jsonText ?? this.bytes().then((bytes) => new TextDecoder().decode(bytes));
  }

  /**
   * The body as text that is to be parsed: it saves 4 % of a request beside {@linkcode BodyReader.text}, but bytes that are no UTF-8,
   * which no JSON has, cannot be had back.
   */
  jsonText(): Promise<string> {
    if (this.#bytes !== undefined) return this.text();
    return this.#jsonText ??= this.#readWhole(this.#limits.body, () => this.#raw.text()) ?? this.text();
  }

  /** The body as what its JSON says. */
  async json(): Promise<unknown> {
    return parseJson(await this.text(), this.#raw.headers);
  }

  /** The fields of the form that the body is. Its files are there until the reply has gone. */
  form(): Promise<readonly FormEntry[]> {
    return this.#form ??= this.#readForm();
  }

  /** The same, as the platform has forms. */
  async formData(): Promise<FormData> {
    const data = new FormData();
    for (const [name, value] of await this.form()) {
      if (typeof value === "string") data.append(name, value);
      else data.append(name, value);
    }
    return data;
  }

  /** The body as it comes. What is not read of it is let go when the reply has gone. */
  stream(): ReadableStream<Bytes> {
    const kept = this.#bytes ?? (this.#jsonText && this.bytes());
    if (kept) return streamOf(kept);
    const buffer = this.#openBuffer();
    if (!buffer) return new ReadableStream({ start: (to) => to.close() });
    this.#owner.addCleanup(() => buffer.cancel());
    return buffer.open();
  }

  /**
   * The same, within bounds.
   *
   * @param size How many bytes it may have.
   * @param chunkTime How long each chunk may take, in milliseconds, from when it is asked for.
   * @throws {HTTPError} With 413, where the length that was announced is over the bound. Later, the stream fails with 413 or 408.
   */
  streamWithin(size: number, chunkTime: number): ReadableStream<Bytes> {
    this.#announced(size);
    const inTime = chunkTime === Infinity ? identity : <T>(chunk: Promise<T>) => this.#inTime(chunk, chunkTime);
    return boundedStream(this.stream(), size, inTime);
  }

  /**
   * Lets go of what has not been read of a stream. Before the reply, the server takes the rest and keeps the connection; after it,
   * the connection is reset, and a client that still sends may never see the reply.
   */
  release(): void {
    void this.#buffer?.cancel();
  }

  #openBuffer(): BodyBuffer | undefined {
    this.#refuseUsed();
    const { body } = this.#raw;
    // More is kept of no body: one that is larger, as a form with files may be, can be read once.
    return this.#buffer ??= body ? new BodyBuffer(body, this.#limits.body, this.#owner.app) : undefined;
  }

  #refuseUsed(): void {
    if (this.#buffer !== undefined || !this.#raw.bodyUsed) return;
    throw new TypeError("Cannot read the body of the request: it was read through request.raw before");
  }

  /**
   * The length that the client announced, which a server holds it to.
   *
   * @throws {HTTPError} With 413, where it is over the limit: nothing of the body is read then.
   */
  #announced(limit: number): number | undefined {
    const header = this.#raw.headers.get("content-length");
    if (header === null) return undefined;
    if (Number(header) > limit) throw tooLarge(limit);
    return Number(header);
  }

  /** The platform's own reading, several times as fast as long as nobody has asked for the body's stream; where that can be. */
  #readWhole<Whole extends string | Bytes>(limit: number, read: () => Promise<Whole>): Promise<Whole> | undefined {
    this.#refuseUsed();
    if (this.#buffer !== undefined || this.#announced(limit) === undefined) return undefined;
    const whole = this.#wait(read(), this.#limits.readTimeout, tooSlow, cutShort, this.#owner.app);
    return this.#isLocal ? whole.then((whole) => refuseLonger(whole, limit)) : whole;
  }

  async #readBytes(): Promise<Bytes> {
    const isMultipart = mediaTypeOf(this.#raw.headers) === "multipart/form-data";
    const limit = isMultipart ? this.#limits.multipart : this.#limits.body;
    const whole = this.#readWhole(limit, () => this.#raw.bytes());
    if (whole) return await whole;
    this.#announced(limit);
    const buffer = this.#openBuffer();
    return buffer ? await this.#inTime(collect(buffer.open().getReader(), limit)) : new Uint8Array();
  }

  async #readForm(): Promise<readonly FormEntry[]> {
    const { headers } = this.#raw;
    refuseContentEncoding(headers);
    switch (mediaTypeOf(headers)) {
      case "application/x-www-form-urlencoded":
        return await this.#readUrlencoded();
      case "multipart/form-data":
        // From now on, so that a server that stops waits for it.
        return await this.#inTime(this.#readMultipart(headers.get("content-type")!));
      default:
        throw new HTTPError(415, "The body must be a form", { headers: { accept: FORM_TYPES } });
    }
  }

  async #readUrlencoded(): Promise<readonly FormEntry[]> {
    const [text, { parseUrlencoded }] = await Promise.all([this.text(), import("./forms/multipart.ts")]);
    return parseUrlencoded(text, this.#limits.parts);
  }

  async #readMultipart(contentType: string): Promise<readonly FormEntry[]> {
    const [{ boundaryOf }, { readMultipartForm }, { UploadStorage }] = await Promise.all([
      import("./forms/multipart.ts"),
      import("./forms/multipart.ts"),
      import("./forms/uploads.ts"),
    ]);
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) {
      throw new HTTPError(400, "The content type of the form has no boundary of at most 70 characters");
    }
    this.#announced(this.#limits.multipart);
    const storage = new UploadStorage();
    this.#owner.addCleanup(() => storage.remove());
    return await readMultipartForm(this.stream(), boundary, this.#limits, storage);
  }

  /** Waits for what is read. Where that fails, the rest is let go, so that the connection is not held up by it. */
  #inTime<T>(read: Promise<T>, ms: number = this.#limits.readTimeout): Promise<T> {
    const giveUp = <E>(error: E): E => {
      this.#buffer?.cancel();
      return error;
    };
    return this.#wait(read, ms, (isStopping) => giveUp(tooSlow(isStopping)), giveUp, this.#owner.app);
  }

  get #wait(): typeof withDeadline {
    return this.#isLocal ? withOwnDeadline : withDeadline;
  }
}

const FORM_TYPES = "application/x-www-form-urlencoded, multipart/form-data";

async function collect(reader: ReadableStreamDefaultReader<Bytes>, limit: number): Promise<Bytes> {
  const chunks: Bytes[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** A request that was made by hand can announce one length and have another. */
function refuseLonger<Whole extends string | Bytes>(whole: Whole, limit: number): Whole {
  if (whole.length > limit) throw tooLarge(limit);
  return whole;
}

function streamOf(kept: Promise<Bytes>): ReadableStream<Bytes> {
  return new ReadableStream({
    async pull(controller) {
      const bytes = await kept;
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** A stream that fails with 413 beyond a size. Its source is cancelled where it fails, or its reader goes. */
function boundedStream(
  source: ReadableStream<Bytes>,
  size: number,
  inTime: <T>(reading: Promise<T>) => Promise<T>,
): ReadableStream<Bytes> {
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

function identity<T>(promise: Promise<T>): Promise<T> {
  return promise;
}
