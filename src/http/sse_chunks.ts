/** Where a stream of events comes from: chunks of whole events, made when they are asked for. */
import { describeError, log } from "../log.ts";
import { type DataEncoding, toEventFrame } from "./sse_event.ts";
import { COMMENT, toFrame } from "./sse_frame.ts";

/** Bytes of whole events. */
export type Chunk = Uint8Array<ArrayBuffer>;

/** Gives what is to be sent, one chunk each time it is asked. */
export interface EventChunks {
  /**
   * Goes on after an event that the client has seen, if the source can.
   *
   * @throws {HTTPError} With 400, when it never gave such an id.
   */
  resumeAfter(id: string): void;
  /** The next chunk; undefined at the end. It is not asked again before it has answered. */
  next(): Promise<Chunk | undefined>;
  /** What is sent when there was nothing else to send for a while. */
  heartbeat(): Chunk;
  /** Ends the source, also while it is asked. What it leaves to wait for, it gives. It never fails. */
  close(): Promise<void> | void;
}

/** What holds for all events of a stream. */
export interface ChunkOptions {
  /** How data becomes text. */
  readonly encode: DataEncoding;
  /** How long the client waits before it comes back, in milliseconds. */
  readonly retry: number | undefined;
}

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(COMMENT);

/** The bytes of events. */
export function toChunk(frames: string): Chunk {
  return encoder.encode(frames);
}

/** The events of an application's own source, each a chunk. */
export class IterableChunks implements EventChunks {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #encode: DataEncoding;
  #opening: Chunk | undefined;
  #isAsked = false;
  #isOver = false;

  /** Takes an iterable, whose first value is not asked for yet. */
  constructor(source: AsyncIterable<unknown>, { encode, retry }: ChunkOptions) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#encode = encode;
    this.#opening = retry === undefined ? undefined : toChunk(toFrame({ retry }));
  }

  /** The application does it, which knows what its ids mean. */
  resumeAfter(): void {}

  async next(): Promise<Chunk | undefined> {
    const opening = this.#opening;
    this.#opening = undefined;
    if (opening) return opening;
    const item = await this.#nextItem();
    return item.done ? undefined : toChunk(toEventFrame(item.value, this.#encode));
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

  async #nextItem(): Promise<IteratorResult<unknown>> {
    this.#isAsked = true;
    try {
      const item = await this.#iterator.next();
      this.#isOver = item.done ?? false;
      return item;
    } catch (error) {
      this.#isOver = true;
      throw error;
    } finally {
      this.#isAsked = false;
    }
  }

  async #return(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch (error) {
      log("error", "The source of a stream of events failed to end", { error: describeError(error) });
    }
  }
}
