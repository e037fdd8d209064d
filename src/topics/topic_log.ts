/** Reads a topic's log, in terms of the ids and messages that subscribers see. */
import { decodeMessage, toId, type TopicMessage, toPosition } from "./message.ts";
import type { LogBounds, LogRef, ReadLimits, TopicStore } from "./store.ts";

/** How much is read from the store at once, which is what a slow reader holds in memory at most. */
export const READ_LIMITS: ReadLimits = { maxMessages: 256, maxBytes: 1024 * 1024 };

/** Where a topic begins and ends, as ids. */
export interface TopicBounds {
  /** The id of the newest message that was removed, or of the place before the first. */
  readonly lowWatermark: string;
  /** The id of the newest message. */
  readonly highWatermark: string;
}

/** A part of a topic, and its bounds at the same moment. */
export interface LogSlice<Data> extends TopicBounds {
  /** Messages in order, without a hole. */
  readonly messages: readonly TopicMessage<Data>[];
  /** The bytes of data of each. */
  readonly sizes: readonly number[];
}

/** Reads one log. */
export class TopicLog<Data> {
  readonly #store: () => TopicStore;
  readonly #log: LogRef;
  readonly #running = new Map<string, Promise<LogSlice<Data>>>();

  /**
   * Makes a reader.
   *
   * @param store Gives the store; another one after the application was stopped.
   * @param log The log to read.
   */
  constructor(store: () => TopicStore, log: LogRef) {
    this.#store = store;
    this.#log = log;
  }

  /** Where the topic begins and ends. */
  async bounds(): Promise<TopicBounds> {
    return toBounds(await this.#store().bounds(this.#log));
  }

  /** What comes after an id, for all who wait at the end. It sees all that was appended before the call. */
  readLive(after: string): Promise<LogSlice<Data>> {
    return this.#read(after, { ...READ_LIMITS, isLive: true });
  }

  async #read(after: string, limits: ReadLimits): Promise<LogSlice<Data>> {
    const { messages, ...bounds } = await this.#store().read(this.#log, toPosition(after).cursor, limits);
    return {
      ...toBounds(bounds),
      messages: Object.freeze(messages.map((message) => decodeMessage<Data>(message, bounds.incarnation))),
      sizes: messages.map(({ bytes }) => bytes),
    };
  }

  /**
   * What comes after an id. Those who ask for the same at the same time share one reading, and get the very same list; it may not
   * see what was appended since the first of them asked.
   */
  readShared(after: string): Promise<LogSlice<Data>> {
    let running = this.#running.get(after);
    if (!running) {
      running = this.#read(after, READ_LIMITS).finally(() => this.#running.delete(after));
      this.#running.set(after, running);
    }
    return running;
  }

  /** The id after which the first message of a time comes. */
  async seek(time: Date): Promise<string> {
    const { incarnation, cursor } = await this.#store().seek(this.#log, time);
    return toId(incarnation, cursor);
  }

  /** Calls back when there may be more to read, until it is ended by what it returns. */
  watch(wake: () => void): () => void {
    return this.#store().watch(this.#log, wake);
  }
}

function toBounds({ incarnation, lowWatermark, highWatermark }: LogBounds): TopicBounds {
  return { lowWatermark: toId(incarnation, lowWatermark), highWatermark: toId(incarnation, highWatermark) };
}
