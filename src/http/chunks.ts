/**
 * Chunks of a body. The memory that they take follows the bytes that arrive, whatever length was
 * announced and however small the chunks are.
 */

type Bytes = Uint8Array<ArrayBuffer>;

/** The memory that waits for the next bytes, in bytes. */
const READ_SIZE = 32 * 1024;

/** The sizes of the blocks in which bytes are kept. A block is at most as large as the rest. */
const MIN_BLOCK = 512;
const MAX_BLOCK = 32 * 1024;

/**
 * Reads a stream in chunks that the caller owns, each in memory of at most twice its size. Deno
 * itself gives each chunk 64 KiB, also if it is a single byte.
 */
export class ChunkReader {
  readonly #reader: ReadableStreamDefaultReader<Bytes> | ReadableStreamBYOBReader;
  readonly #takesMemory: boolean;
  /** Memory for the next chunk. */
  #spare: ArrayBuffer | undefined;

  constructor(source: ReadableStream<Bytes>) {
    const reader = readerInto(source);
    this.#takesMemory = reader !== undefined;
    this.#reader = reader ?? source.getReader();
  }

  /** The next chunk; undefined at the end. */
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

/** Keeps bytes in blocks. An array of small chunks would take hundreds of bytes for each. */
export class ByteStore {
  /** All blocks are full, but the last. */
  readonly #blocks: Bytes[] = [];
  /** The number of bytes in the last block. */
  #filled = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Copies a chunk into the store. */
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

  /** All bytes in one array. */
  whole(): Bytes {
    const whole = new Uint8Array(this.#size);
    let offset = 0;
    for (const part of this.parts()) {
      whole.set(part, offset);
      offset += part.length;
    }
    return whole;
  }

  /** The bytes in several arrays, which are those of the store. */
  parts(): Bytes[] {
    const last = this.#blocks.length - 1;
    return this.#blocks.map((block, index) => index === last ? block.subarray(0, this.#filled) : block);
  }
}
