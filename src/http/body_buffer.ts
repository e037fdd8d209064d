/** A body that can be read more than once. */
import { HTTPError } from "../base/errors.ts";
import { cutShort, tooLarge, tooSlow } from "./body_errors.ts";
import { ByteStore, ChunkReader } from "./chunks.ts";
import { noteWait } from "./deadline.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Buffers a stream, so that it can be read more than once. Each reader starts at the beginning; the
 * one that is furthest ahead pulls the source.
 */
export class BodyBuffer {
  readonly #reader: ChunkReader;
  #limit: number;
  /** The bytes that were read; undefined when there are too many. */
  #kept: ByteStore | undefined = new ByteStore();
  #size = 0;
  #pending: Promise<Bytes | undefined> | undefined;
  #isCancelled = false;
  /** The error of a stream that was cut off because the server stops. */
  #cut: Error | undefined;
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers();

  /**
   * Wraps a stream.
   *
   * @param source The stream.
   * @param limit The number of bytes to keep. A longer stream can be read once.
   * @param owner The owner of the stream for {@linkcode noteWait}.
   */
  constructor(source: ReadableStream<Bytes>, limit: number, owner?: object) {
    this.#reader = new ChunkReader(source);
    this.#limit = limit;
    // A server that stops waits for the rest of the stream, but not long.
    noteWait(this.#end.promise, owner, tooSlow, (error) => this.#cutOff(error));
  }

  /**
   * A stream over the whole source. It fails with 413 when it needs bytes that are no longer kept,
   * and with 400 when the source fails.
   */
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

  /**
   * Reads the whole source.
   *
   * @param limit The number of bytes that it may have.
   * @param inTime Waits for a chunk.
   * @throws {HTTPError} With 413 if it has more, or some are no longer kept.
   */
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

  /** Whether the source has no bytes. It is read up to the first one. */
  async isEmpty(): Promise<boolean> {
    while (this.#size === 0) if (!await this.#next()) return true;
    return false;
  }

  /** Drops the unread rest: it could block the connection. */
  async cancel(): Promise<void> {
    if (this.#cut) return;
    this.#isCancelled = true;
    this.#end.resolve();
    await this.#reader.cancel().catch(() => {});
  }

  /**
   * Fails the reads. The server would read the rest of a cancelled stream before it stops; it
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

  /** The next chunk of the source; undefined at the end. */
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
      // #pending stays, and gives the end to every reader.
      return undefined;
    }
    this.#pending = undefined;
    this.#size += chunk.byteLength;
    if (this.#size <= this.#limit) this.#kept?.append(chunk);
    else this.#kept = undefined;
    return chunk;
  }
}
