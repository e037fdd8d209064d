/** An application's own source of events. */
import { describeError, log } from "../log.ts";
import { type Chunk, type ChunkOptions, type ChunkReceiver, type EventChunks, toChunk } from "./sse_chunks.ts";
import { type DataEncoding, toEventFrame } from "./sse_event.ts";
import { COMMENT, toFrame } from "./sse_frame.ts";

const HEARTBEAT = toChunk(COMMENT);

/** What an async iterable gives, each a chunk. Where a client left off is the application's to know. */
export class IterableChunks implements EventChunks {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #encode: DataEncoding;
  readonly sentAt = undefined;
  #opening: Chunk | undefined;
  #receiver: ChunkReceiver | undefined;
  #isAsked = false;
  #isOver = false;

  /** Takes an iterable, whose first value is not asked for yet. */
  constructor(source: AsyncIterable<unknown>, { encode, retry }: ChunkOptions) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#encode = encode;
    this.#opening = retry === undefined ? undefined : toChunk(toFrame({ retry }));
  }

  resumeAfter(): void {}

  open(receiver: ChunkReceiver): void {
    this.#receiver = receiver;
  }

  ask(): void {
    const opening = this.#opening;
    this.#opening = undefined;
    if (!opening || this.#receiver?.take(opening)) void this.#next();
  }

  withdraw(): boolean {
    return false;
  }

  heartbeat(): Chunk {
    return HEARTBEAT;
  }

  close(): Promise<void> | void {
    if (this.#isOver) return;
    const ended = this.#return();
    // A generator that waits for something ends after that, if ever.
    if (!this.#isAsked) return ended;
  }

  async #next(): Promise<void> {
    let chunk: Chunk | undefined;
    this.#isAsked = true;
    try {
      const { done = false, value } = await this.#iterator.next();
      this.#isAsked = false;
      this.#isOver = done;
      chunk = done ? undefined : toChunk(toEventFrame(value, this.#encode));
    } catch (error) {
      // A source that fails has ended by that. One that gave what cannot be sent has not.
      this.#isOver ||= this.#isAsked;
      return this.#receiver?.fail(error);
    }
    if (this.#receiver?.take(chunk)) void this.#next();
  }

  async #return(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch (error) {
      log("error", "The source of a stream of events failed to end", { error: describeError(error) });
    }
  }
}
