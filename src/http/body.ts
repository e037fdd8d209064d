/** The body of a request: read within its limits, and kept for further reads. */
import { load } from "../base/async_context.ts";
import { HTTPError } from "../base/errors.ts";
import type { FormEntry } from "../schema/form.ts";
import { BodyBuffer, type Bytes, ChunkReader } from "./body_buffer.ts";
import { codingOf, cutShort, tooLarge, tooSlow } from "./body_errors.ts";
import { withDeadline, withOwnDeadline } from "./deadline.ts";
import { DecompressingReader } from "./decompression.ts";
import { decodeJson, decodeUtf8, mediaTypeOf, parseJson } from "./json.ts";
import { acceptedCodings, type Coding, DEFAULT_LIMITS, type ResolvedLimits } from "./limits.ts";
import { parseUrlencoded } from "./query.ts";

const FORM_TYPES = "application/x-www-form-urlencoded, multipart/form-data";

/** In bytes. Up to this length the platform reads at once; it reserves twice as much first. */
const MAX_AT_ONCE = 32 * 1024;

/** The least average speed of a multipart body, in bytes per millisecond: 16 KiB/s. */
const MIN_SPEED = 16 * 1024 / 1000;

/** The average counts after this time. */
const PACE_GRACE_MS = 30_000;

interface BodyOwner {
  readonly raw: Request;
  /** When it stops, it cuts off bodies that are still arriving. */
  readonly app: object;
  addCleanup(cleanup: () => unknown): void;
}

type InTime = (chunk: Promise<Bytes | undefined>) => Promise<Bytes | undefined>;

export class BodyReader {
  readonly #owner: BodyOwner;
  readonly #raw: Request;
  readonly #limits: ResolvedLimits;
  /** Without a server, a separate timer is used. */
  readonly #isLocal: boolean;
  #bytes: Promise<Bytes> | undefined;
  /** A compressed body as it was sent. */
  #sent: Promise<Bytes> | undefined;
  #form: Promise<readonly FormEntry[]> | undefined;
  #buffer: BodyBuffer | undefined;
  /** The source of the buffer, if that has the decompressed bytes. */
  #decompressed: DecompressingReader | undefined;
  /** Whether another handler gets the body as it was sent. */
  #isForwarded = false;

  constructor(owner: BodyOwner, limits: ResolvedLimits, isLocal: boolean) {
    this.#owner = owner;
    this.#raw = owner.raw;
    this.#limits = limits;
    this.#isLocal = isLocal;
  }

  /** Deno gives each POST a stream, and proxies and HTTP/2 send an empty body without a length. */
  isEmpty(): boolean | Promise<boolean> {
    const { headers, body } = this.#raw;
    const length = headers.get("content-length");
    if (length === "0" || body === null) return true;
    if (length !== null || headers.has("content-type")) return false;
    return this.#isWithoutBytes();
  }

  /** The body, if it was read as a whole. */
  get known(): Promise<Bytes> | undefined {
    return this.#bytes;
  }

  bytes(): Promise<Bytes> {
    return this.#bytes ??= this.#readBytes();
  }

  /**
   * Saves an async layer. A body of an application can be longer than announced: check its length.
   */
  jsonBytes(): Promise<Bytes> {
    return this.#bytes ??= this.#readAtOnce(this.#limits.body) ?? this.#readBytes();
  }

  /**
   * The body as the client sent it, perhaps compressed, of any content type, up to the limit
   * `body`.
   */
  sentBytes(): Promise<Bytes> {
    const { body } = this.#raw;
    if (body === null || this.#coding === undefined) return this.#bytes ??= this.#readBytes(this.#limits.body);
    if (this.#sent) return this.#sent;
    const { body: limit } = this.#limits;
    this.#announced(limit);
    if (this.#decompressed) return this.#sent = this.#sentThrough(this.#decompressed, limit);
    const buffer = new BodyBuffer(new ChunkReader(body), limit, this.#owner.app);
    return this.#sent = this.#inTime(buffer.readAll(limit), undefined, buffer);
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  async json(): Promise<unknown> {
    return parseJson(decodeJson(await this.bytes(), this.#raw, this.#limits), this.#raw, this.#limits);
  }

  /** Its files exist until the reply was sent. */
  form(): Promise<readonly FormEntry[]> {
    return this.#form ??= this.#readForm();
  }

  async formData(): Promise<FormData> {
    const data = new FormData();
    for (const [name, value] of await this.form()) {
      if (typeof value === "string") data.append(name, value);
      else data.append(name, value);
    }
    return data;
  }

  /** The rest of it is dropped when the reply was sent. */
  stream(): ReadableStream<Bytes> {
    if (this.#bytes) return streamOf(this.#bytes);
    const buffer = this.#openBuffer();
    if (!buffer) return new ReadableStream({ start: (to) => to.close() });
    this.#owner.addCleanup(() => buffer.cancel());
    return buffer.open();
  }

  /**
   * For a handler with limits of its own: the body as the client sent it, perhaps compressed,
   * unless something before has read it decompressed. Then `isDecompressed` is true, and the
   * headers of the request about the coding and the length do not apply.
   */
  forward(): { readonly body: ReadableStream<Bytes>; readonly isDecompressed: boolean } {
    this.#isForwarded = this.#decompressed === undefined;
    return { body: this.#streamOnce(), isDecompressed: !this.#isForwarded };
  }

  /**
   * Fails with 413 beyond the size in bytes, and with 408 if a chunk takes longer than `chunkTime`
   * milliseconds after the reader requests it. Throws a 413 for a longer announced body.
   */
  streamWithin(size: number, chunkTime: number): ReadableStream<Bytes> {
    this.#announced(size);
    return this.#watched(chunkTime === Infinity ? (chunk) => chunk : (chunk) => this.#inTime(chunk, chunkTime), size);
  }

  /**
   * Drops the unread rest of a stream. Before the reply the server reads it and keeps the
   * connection; after the reply it resets the connection, and the client may never see the reply.
   */
  release(): void {
    void this.#buffer?.cancel();
  }

  /** A body that was declared as a stream or form may be as large as a file: it is not kept. */
  #streamOnce(): ReadableStream<Bytes> {
    const stream = this.stream();
    this.#buffer?.keepAtMost(DEFAULT_LIMITS.body);
    this.#decompressed?.dropSent();
    return stream;
  }

  #openBuffer(): BodyBuffer | undefined {
    this.#refuseUsed();
    const { body } = this.#raw;
    if (this.#buffer || body === null) return this.#buffer;
    const coding = this.#coding;
    const source = this.#sent ? streamOf(this.#sent) : body;
    const { body: limit } = this.#limits;
    if (coding) this.#decompressed = new DecompressingReader(source, coding, limit);
    // Larger bodies, such as forms with files, can be read only once.
    return this.#buffer = new BodyBuffer(this.#decompressed ?? new ChunkReader(source), limit, this.#owner.app);
  }

  /** What is to be removed. The header is read only if it matters: that has a measurable cost. */
  get #coding(): Coding | undefined {
    if (!this.#limits.decompress || this.#isForwarded) return undefined;
    return codingOf(this.#raw.headers, acceptedCodings(this.#limits));
  }

  async #sentThrough(reader: DecompressingReader, limit: number): Promise<Bytes> {
    await this.bytes();
    const { sent } = reader;
    if (!sent) throw tooLarge(limit);
    return sent;
  }

  #refuseUsed(): void {
    if (this.#buffer !== undefined || this.#sent !== undefined || !this.#raw.bodyUsed) return;
    throw new TypeError("Cannot read the body of the request: it was read through request.raw before");
  }

  /** The announced length, which the server enforces. Throws a 413 before any byte is read. */
  #announced(limit: number): number | undefined {
    const header = this.#raw.headers.get("content-length");
    if (header === null) return undefined;
    if (Number(header) > limit) throw tooLarge(limit);
    return Number(header);
  }

  /**
   * Reads by the platform, several times faster; undefined without a length or an unused stream.
   */
  #readAtOnce(limit: number): Promise<Bytes> | undefined {
    this.#refuseUsed();
    const length = this.#announced(limit);
    if (this.#buffer !== undefined || length === undefined || length > MAX_AT_ONCE) return undefined;
    if (this.#coding !== undefined) return undefined;
    return this.#wait(this.#raw.bytes(), this.#limits.readTimeout, tooSlow, cutShort, this.#owner.app);
  }

  async #readBytes(most = Infinity): Promise<Bytes> {
    const isMultipart = mediaTypeOf(this.#raw.headers) === "multipart/form-data";
    const limit = Math.min(most, isMultipart ? this.#limits.multipart : this.#limits.body);
    const whole = await this.#readAtOnce(limit);
    if (whole) {
      if (whole.length > limit) throw tooLarge(limit);
      return whole;
    }
    const buffer = this.#openBuffer();
    if (!buffer) return new Uint8Array();
    return await (isMultipart
      ? this.#inTime(buffer.readAll(limit, this.#paced()), Infinity)
      : this.#inTime(buffer.readAll(limit)));
  }

  async #isWithoutBytes(): Promise<boolean> {
    if (this.#bytes) return (await this.#bytes).length === 0;
    const buffer = this.#openBuffer();
    return buffer === undefined || await this.#inTime(buffer.isEmpty());
  }

  async #readForm(): Promise<readonly FormEntry[]> {
    const { headers } = this.#raw;
    codingOf(headers, acceptedCodings(this.#limits));
    switch (mediaTypeOf(headers)) {
      case "application/x-www-form-urlencoded": {
        const text = decodeUtf8(await this.bytes());
        if (text === undefined) throw new HTTPError(400, "The form must be in UTF-8");
        return parseUrlencoded(text, this.#limits.parts);
      }
      case "multipart/form-data":
        // The wait begins before the modules load, so that a server that stops waits, too.
        return await this.#inTime(this.#readMultipart(headers.get("content-type")!), Infinity);
      default:
        throw new HTTPError(415, "The body must be a form", { headers: { accept: FORM_TYPES } });
    }
  }

  async #readMultipart(contentType: string): Promise<readonly FormEntry[]> {
    const [{ boundaryOf, readMultipartForm }, { UploadStorage }] = await Promise.all([
      load(() => import("./forms/multipart.ts")),
      load(() => import("./forms/uploads.ts")),
    ]);
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) {
      throw new HTTPError(400, "The content type of the form has no boundary of at most 70 characters");
    }
    this.#announced(this.#limits.multipart);
    const storage = new UploadStorage();
    this.#owner.addCleanup(() => storage.remove());
    return await readMultipartForm(this.#watched(this.#paced()), boundary, this.#limits, storage);
  }

  #watched(inTime: InTime, size = Infinity): ReadableStream<Bytes> {
    const reader = this.#streamOnce().getReader();
    let total = 0;
    return new ReadableStream({
      pull: async (controller) => {
        try {
          const chunk = await inTime(reader.read().then(({ value }) => value));
          if (!chunk) return controller.close();
          total += chunk.length;
          if (total > size) throw tooLarge(size);
          controller.enqueue(chunk);
        } catch (error) {
          reader.cancel(error).catch(() => {});
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    }, { highWaterMark: 0 });
  }

  /** For the chunks of a multipart body, which may take long as long as it moves. */
  #paced(): InTime {
    const { readTimeout } = this.#limits;
    const grace = Math.max(PACE_GRACE_MS, readTimeout);
    let size = 0;
    let waited = 0;
    return async (read) => {
      const begin = performance.now();
      const chunk = await this.#inTime(read, readTimeout);
      // Only the waits for bytes count, not writes to a slow disk.
      waited += performance.now() - begin;
      size += chunk?.length ?? 0;
      if (chunk && waited > grace && size < waited * MIN_SPEED) throw tooSlow(false);
      return chunk;
    };
  }

  /** Waits for a read. A failure cancels the rest of the body, which would block the connection. */
  #inTime<T>(read: Promise<T>, ms: number = this.#limits.readTimeout, buffer = this.#buffer): Promise<T> {
    const abandon = <E>(error: E): E => {
      buffer?.cancel();
      return error;
    };
    // A server that stops cuts off the buffer, too.
    const late = (isStopping: boolean) => isStopping ? tooSlow(true) : abandon(tooSlow(false));
    return this.#wait(read, ms, late, abandon, this.#owner.app);
  }

  get #wait(): typeof withDeadline {
    return this.#isLocal ? withOwnDeadline : withDeadline;
  }
}

function streamOf(bytes: Promise<Bytes>): ReadableStream<Bytes> {
  return new ReadableStream({
    async pull(controller) {
      const chunk = await bytes;
      if (chunk.length > 0) controller.enqueue(chunk);
      controller.close();
    },
  });
}
