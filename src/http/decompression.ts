/** Decompresses request bodies (RFC 9110, section 8.4). */
import { HTTPError } from "../base/errors.ts";
import { nodeStream, nodeZlib } from "../base/runtime.ts";
import { type ByteReader, ByteStore, ChunkReader } from "./body_buffer.ts";
import type { Coding } from "./limits.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Random bytes grow when they are compressed, but empty blocks must not arrive forever. */
const OVERHEAD = 256 * 1024;

/**
 * Decompresses a body on demand, in chunks of at most 16 KiB: a few bytes can expand to gigabytes,
 * and `DecompressionStream` would expand all of a chunk at once. Malformed bytes are a 400.
 */
export class DecompressingReader implements ByteReader {
  readonly #source: ChunkReader;
  readonly #chunks: AsyncIterator<Uint8Array<ArrayBuffer>>;
  readonly #coding: Coding;
  readonly #keep: number;
  /** The bytes of the source so far; undefined when there are more than `keep`. */
  #sent: ByteStore | undefined = new ByteStore();
  #size = 0;
  /** Of the source; any other failure is that of malformed bytes. */
  #failure: { readonly cause: unknown } | undefined;

  constructor(source: ReadableStream<Bytes>, coding: Coding, keep: number) {
    this.#source = new ChunkReader(source);
    this.#coding = coding;
    this.#keep = keep;
    // The caller gets each error by read().
    const decompressed = nodeStream().pipeline(() => this.#read(), decompressor(coding), () => {});
    this.#chunks = decompressed[Symbol.asyncIterator]();
  }

  /** The compressed body, when it was read to its end; undefined if it is too large. */
  get sent(): Bytes | undefined {
    return this.#sent?.whole();
  }

  /** Keeps no compressed bytes. */
  dropSent(): void {
    this.#sent = undefined;
  }

  async read(): Promise<Bytes | undefined> {
    try {
      const { done, value } = await this.#chunks.next();
      // The bytes of a Buffer belong to a pool.
      if (done) return undefined;
      this.#size += value.length;
      return new Uint8Array(value);
    } catch (cause) {
      if (this.#failure) throw this.#failure.cause;
      throw new HTTPError(400, `The body is not well-formed ${this.#coding}`, { cause });
    }
  }

  async cancel(reason?: unknown): Promise<void> {
    await Promise.all([this.#source.cancel(reason), this.#chunks.return?.()]);
  }

  releaseLock(): void {
    this.#source.releaseLock();
    void this.#chunks.return?.();
  }

  async *#read(): AsyncGenerator<Bytes, void, void> {
    let sent = 0;
    while (sent <= 1.01 * this.#size + OVERHEAD) {
      const chunk = await this.#source.read().catch((cause) => {
        this.#failure = { cause };
        throw cause;
      });
      if (chunk === undefined) return;
      sent += chunk.length;
      if (sent <= this.#keep) this.#sent?.append(chunk);
      else this.#sent = undefined;
      yield chunk;
    }
    throw new Error("Cannot decompress the body: it has less content than its length needs");
  }
}

function decompressor(coding: Coding): ReturnType<ReturnType<typeof nodeZlib>["createGunzip"]> {
  const zlib = nodeZlib();
  if (coding === "br") return zlib.createBrotliDecompress();
  return coding === "gzip" ? zlib.createGunzip() : zlib.createInflate();
}
