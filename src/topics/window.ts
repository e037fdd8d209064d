/** The newest messages of a topic, held once for all its readers. */
import type { TopicMessage } from "./message.ts";
import { isSameEpoch } from "./message_id.ts";
import type { LogSlice } from "./log_reader.ts";

/** For how many places the list of what comes after them is held at most. */
const MAX_BATCHES = 16;

/**
 * An unbroken run of messages, up to the newest that this process has read. What is beyond its bounds falls out at the old end:
 * a reader who is further behind reads from the store.
 */
export class Window<Data> {
  readonly #maxMessages: number;
  readonly #maxBytes: number;
  #messages: TopicMessage<Data>[] = [];
  #sizes: number[] = [];
  #bytes = 0;
  #start: string;
  #end: string;
  /** What comes from an index on, so that all who are there get the very same list. */
  readonly #batches = new Map<number, readonly TopicMessage<Data>[]>();

  /** Makes an empty window at a place in the log. */
  constructor(start: string, maxMessages: number, maxBytes: number) {
    this.#start = this.#end = start;
    this.#maxMessages = maxMessages;
    this.#maxBytes = maxBytes;
  }

  /** The id up to which it has been read. */
  get end(): string {
    return this.#end;
  }

  /** Whether nothing is missing between the window and what was read at its end. */
  isContinuedBy(slice: LogSlice<Data>): boolean {
    return isSameEpoch(slice.head, this.#end) && slice.low <= this.#end;
  }

  /** Adds what was read at its end, and lets go of what the store no longer keeps. */
  extend({ messages, sizes, low }: LogSlice<Data>): void {
    for (const [index, message] of messages.entries()) {
      const size = sizes[index] ?? 0;
      this.#messages.push(message);
      this.#sizes.push(size);
      this.#bytes += size;
      this.#end = message.id;
    }
    this.#dropWhile((message, count) =>
      message.id <= low || (count > 1 && (count > this.#maxMessages || this.#bytes > this.#maxBytes))
    );
    this.#batches.clear();
  }

  /** Lets go of what was stored before a time. */
  expire(time: number): void {
    const [oldest] = this.#messages;
    if (oldest === undefined || oldest.time.getTime() >= time) return;
    this.#dropWhile((message) => message.time.getTime() < time);
    this.#batches.clear();
  }

  /**
   * What comes after an id: the very same list for all who ask for the same, empty where there is nothing yet. Undefined where
   * the window does not reach so far back.
   */
  after(id: string): readonly TopicMessage<Data>[] | undefined {
    if (!isSameEpoch(id, this.#start) || id < this.#start) return undefined;
    const index = this.#indexAfter(id);
    const known = this.#batches.get(index);
    if (known) return known;
    const batch = Object.freeze(this.#messages.slice(index));
    // Any number of clients may go on after as many ids.
    if (this.#batches.size === MAX_BATCHES) this.#batches.clear();
    this.#batches.set(index, batch);
    return batch;
  }

  /** Whether it is known that the id is a place in the log. */
  covers(id: string): boolean {
    return isSameEpoch(id, this.#start) && id >= this.#start && id <= this.#end;
  }

  #indexAfter(id: string): number {
    let low = 0;
    let high = this.#messages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#messages[middle]!.id <= id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #dropWhile(isBeyond: (message: TopicMessage<Data>, count: number) => boolean): void {
    let dropped = 0;
    for (const message of this.#messages) {
      if (!isBeyond(message, this.#messages.length - dropped)) break;
      this.#bytes -= this.#sizes[dropped] ?? 0;
      this.#start = message.id;
      dropped++;
    }
    this.#messages.splice(0, dropped);
    this.#sizes.splice(0, dropped);
  }
}
