/** A body's stream that can be read more than once: what has passed is kept, up to a bound. */
import { HTTPError } from "../errors.ts";
import { cutShort, tooSlow } from "./body_refusal.ts";
import { noteWait } from "./deadline.ts";

type Chunk = Uint8Array<ArrayBuffer>;

/** Gives any number of streams over one source. Each starts at the beginning, and pulls the source when it is ahead. */
export class Replay {
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
