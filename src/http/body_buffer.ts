/** Bodies that can be read more than once, in memory that follows the bytes that arrive. */
import { HTTPError } from "../base/errors.ts";
import { cutShort, tooLarge, tooSlow } from "./body_errors.ts";
import { registerWait } from "./deadline.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** Each reader starts at the beginning; the one that is furthest ahead pulls the source. */
export class BodyBuffer {
  readonly #reader: ByteReader;
  #limit: number;
  /** The bytes so far; undefined when there are too many. */
  #kept: ByteStore | undefined = new ByteStore();
  #size = 0;
  #pending: Promise<Bytes | undefined> | undefined;
  #isCancelled = false;
  /** The error of a stream that was cut off because the server stops. */
  #cut: Error | undefined;
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers();

  /** Keeps at most `limit` bytes: a longer stream can be read once. `owner`: see `registerWait`. */
  constructor(source: ByteReader, limit: number, owner?: object) {
    this.#reader = source;
    this.#limit = limit;
    // A server that stops waits for the rest of the stream, but not long.
    registerWait(this.#end.promise, owner, tooSlow, (error) => this.#cutOff(error));
  }

  /** A stream over the whole source: 413 when it needs bytes that were dropped, 400 if it fails. */
  open(): ReadableStream<Bytes> {
    let read = 0;
    return new ReadableStream({
      pull: async (controller) => {
        const chunk = read === this.#size ? await this.#next() : this.#from(read);
        if (!chunk) return controller.close();
        read += chunk.length;
        controller.enqueue(chunk);
      },
    }, { highWaterMark: 0 });
  }

  /** For a stream that is read once: keeps no more than `most` bytes, or those that it has. */
  keepAtMost(most: number): void {
    this.#limit = Math.min(this.#limit, Math.max(this.#size, most));
  }

  /** Throws a 413 if the source is longer, or bytes were dropped. */
  async readAll(
    limit: number,
    inTime: (chunk: Promise<Bytes | undefined>) => Promise<Bytes | undefined> = (chunk) => chunk,
  ): Promise<Bytes> {
    if (!this.#kept) throw this.#readBefore();
    this.#limit = Math.max(this.#limit, limit);
    do {
      if (this.#size > limit) throw tooLarge(limit);
    } while (await inTime(this.#next()));
    return this.#kept.whole();
  }

  /** Reads the source up to its first byte. */
  async isEmpty(): Promise<boolean> {
    while (this.#size === 0) if (!await this.#next()) return true;
    return false;
  }

  /** The unread rest could block the connection. */
  async cancel(): Promise<void> {
    if (this.#cut) return;
    this.#isCancelled = true;
    this.#end.resolve();
    await this.#reader.cancel().catch(() => {});
  }

  /**
   * Fails the reads. Before it stops, the server would read the rest of a cancelled stream; it
   * closes the connection of a stream without a reader.
   */
  #cutOff(error: Error): void {
    this.#cut = error;
    this.#end.resolve();
    this.#reader.releaseLock();
  }

  #from(index: number): Bytes {
    if (!this.#kept) throw this.#readBefore();
    return this.#kept.from(index);
  }

  #readBefore(): HTTPError {
    return new HTTPError(413, `The body is larger than ${this.#limit} bytes, and can be read only once`);
  }

  #next(): Promise<Bytes | undefined> {
    return this.#pending ??= this.#pull();
  }

  async #pull(): Promise<Bytes | undefined> {
    const chunk = await this.#reader.read().catch((cause) => {
      this.#end.resolve();
      throw this.#cut ?? cutShort(cause);
    });
    if (chunk === undefined) {
      this.#end.resolve();
      if (this.#isCancelled) throw cutShort(new Error("Cannot read on: the rest of the body was dropped"));
      // #pending stays, and gives the end to each reader.
      return undefined;
    }
    this.#pending = undefined;
    this.#size += chunk.byteLength;
    if (this.#size <= this.#limit) this.#kept?.append(chunk);
    else this.#kept = undefined;
    return chunk;
  }
}

/** Reads bytes in chunks that the caller owns; undefined at the end. */
export interface ByteReader {
  read(): Promise<Bytes | undefined>;
  cancel(reason?: unknown): Promise<void>;
  /** Stops reading without cancelling the source. */
  releaseLock(): void;
}

/** For the next read, in bytes. */
const READ_SIZE = 32 * 1024;

/** A block is at most as large as the rest of the store. */
const MIN_BLOCK = 512;
const MAX_BLOCK = 32 * 1024;

/** Chunks that the caller owns, in at most twice their size. Deno takes 64 KiB for each. */
export class ChunkReader implements ByteReader {
  readonly #reader: ReadableStreamDefaultReader<Bytes> | ReadableStreamBYOBReader;
  readonly #takesMemory: boolean;
  #spare: ArrayBuffer | undefined;

  constructor(source: ReadableStream<Bytes>) {
    const reader = readerInto(source);
    this.#takesMemory = reader !== undefined;
    this.#reader = reader ?? source.getReader();
  }

  async read(): Promise<Bytes | undefined> {
    if (!this.#takesMemory) {
      const { done, value } = await (this.#reader as ReadableStreamDefaultReader<Bytes>).read();
      return done ? undefined : isWasteful(value) ? value.slice() : value;
    }
    const memory = this.#spare ?? new ArrayBuffer(READ_SIZE);
    this.#spare = undefined;
    const { done, value } = await (this.#reader as ReadableStreamBYOBReader).read(new Uint8Array(memory));
    if (done || value === undefined) return undefined;
    if (!isWasteful(value)) return value;
    this.#spare = value.buffer;
    return value.slice();
  }

  cancel(reason?: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }

  releaseLock(): void {
    this.#reader.releaseLock();
  }
}

/** A reader that fills given memory, which only streams of the platform offer. */
function readerInto(source: ReadableStream<Bytes>): ReadableStreamBYOBReader | undefined {
  try {
    return source.getReader({ mode: "byob" });
  } catch (error) {
    if (error instanceof TypeError && !source.locked) return undefined;
    throw error;
  }
}

function isWasteful({ length, buffer }: Bytes): boolean {
  return 2 * length < buffer.byteLength;
}

/** Keeps bytes in blocks: an array of small chunks would take hundreds of bytes for each. */
export class ByteStore {
  readonly #blocks: Bytes[] = [];
  #filled = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  append(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.length > 0) {
      let block = this.#blocks.at(-1);
      if (block === undefined || this.#filled === block.length) {
        const size = Math.max(rest.length, Math.min(MAX_BLOCK, Math.max(MIN_BLOCK, this.#size)));
        this.#blocks.push(block = new Uint8Array(size));
        this.#filled = 0;
      }
      const part = rest.subarray(0, block.length - this.#filled);
      block.set(part, this.#filled);
      this.#filled += part.length;
      this.#size += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** A copy of the bytes from an index to the end of a block. */
  from(index: number): Bytes {
    let start = index;
    for (const part of this.parts()) {
      if (start < part.length) return part.slice(start);
      start -= part.length;
    }
    return new Uint8Array();
  }

  whole(): Bytes {
    const whole = new Uint8Array(this.#size);
    let offset = 0;
    for (const part of this.parts()) {
      whole.set(part, offset);
      offset += part.length;
    }
    return whole;
  }

  parts(): Bytes[] {
    const last = this.#blocks.length - 1;
    return this.#blocks.map((block, index) => index === last ? block.subarray(0, this.#filled) : block);
  }
}
