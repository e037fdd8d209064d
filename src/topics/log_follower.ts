import { nodeTimers } from "../runtime.ts";
import type { LogSlice, TopicLog } from "./topic_log.ts";
import { isSameIncarnation, type TopicMessage } from "./message.ts";

/** The newest messages of a topic, held once for all its readers. */

/** For how many places the list of what comes after them is held at most. */
const MAX_BATCHES = 16;

/**
 * An unbroken run of messages, up to the newest that this process has read. What is beyond its bounds falls out at the old end:
 * a reader who is further behind reads from the store.
 */
export class RecentMessages<Data> {
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
    return isSameIncarnation(slice.highWatermark, this.#end) && slice.lowWatermark <= this.#end;
  }

  /** Adds what was read at its end, and lets go of what the store no longer keeps. */
  extend({ messages, sizes, lowWatermark }: LogSlice<Data>): void {
    for (const [index, message] of messages.entries()) {
      const size = sizes[index] ?? 0;
      this.#messages.push(message);
      this.#sizes.push(size);
      this.#bytes += size;
      this.#end = message.id;
    }
    this.#dropWhile((message, count) =>
      message.id <= lowWatermark || (count > 1 && (count > this.#maxMessages || this.#bytes > this.#maxBytes))
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
    if (!isSameIncarnation(id, this.#start) || id < this.#start) return undefined;
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
    return isSameIncarnation(id, this.#start) && id >= this.#start && id <= this.#end;
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

/** The live end of a topic in this process: follows the log once for all who read it here. */

/** The most bytes of data that are held ready for readers; one larger message is held all the same. */
const MAX_WINDOW_BYTES = 1024 * 1024;

/** Waits until the event loop has seen to what has come from elsewhere. */
function turn(): Promise<void> {
  return new Promise((resolve) => nodeTimers().setImmediate(resolve));
}

/** Someone who reads at the tail. */
export interface LiveReader {
  /** There may be more to read. */
  wake(): void;
  /** It is no longer at the end of the tail, but at a place after which only the log can tell what comes. */
  leaveEnd(place: string): void;
  /** The log cannot be read any more. */
  fail(error: unknown): void;
  /** Nothing more will come. */
  close(): void;
}

/** Sends what comes at the end of a tail to many subscribers at once. */
export interface Broadcaster<Subscriber = unknown> {
  /**
   * Sends messages to subscribers, which all wait for the next ones afterwards. A subscriber that
   * takes no more must leave the tail during this call.
   */
  broadcast(batch: readonly TopicMessage[], subscribers: Iterable<Subscriber>): void;
}

/** What a tail holds ready, and for how long. */
export interface FollowerOptions {
  /** How many messages are held ready. */
  readonly buffer: number;
  /** How old they become, in milliseconds. */
  readonly age: number;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Follows a log for as long as somebody waits for what comes; while all its readers are busy elsewhere it falls behind, at no cost.
 * Its knowledge grows by reading the log alone: being called is but a hint.
 */
export class LogFollower<Data> {
  readonly #log: TopicLog<Data>;
  readonly #options: FollowerOptions;
  readonly #onEnd: () => void;
  readonly #readers = new Set<LiveReader>();
  #waiting = new Set<LiveReader>();
  /** Subscribers that wait at the end, with their readers. Their positions are not stored: they move with the end. */
  readonly #subscribers = new Map<Broadcaster, Map<unknown, LiveReader>>();
  #isBroadcasting = false;
  #lastBroadcastAt = -Infinity;
  readonly #unwatch: () => void;
  #window: RecentMessages<Data> | undefined;
  #hasEnded = false;
  #failure: unknown;
  #isReading = false;
  #isBehind = false;
  /** Whether several messages came at once the last time: more are likely to be on their way when the next one comes. */
  #isBusy = false;
  /** How long it took to hand out what was read last, in milliseconds. */
  #cost = 0;

  /** Resolves when it is known where the log ends, or will never be. It never rejects: readers are told of a failure. */
  readonly opened: Promise<void>;

  /**
   * Begins to follow.
   *
   * @param log The log.
   * @param options What is held ready.
   * @param onEnd Called when nobody reads any more, or the log cannot be read.
   */
  constructor(log: TopicLog<Data>, options: FollowerOptions, onEnd: () => void) {
    this.#log = log;
    this.#options = options;
    this.#onEnd = onEnd;
    // Before the log is looked at, so that nothing appended in between goes unnoticed.
    this.#unwatch = log.watch(() => {
      this.#isBehind = true;
      void this.#follow();
    });
    this.opened = this.#open();
  }

  /** The id up to which the log has been read. Undefined until it is opened. */
  get end(): string | undefined {
    return this.#window?.end;
  }

  /** Why the log could not be read. Without it, the log has an end as soon as it is opened. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Whether it has read all that it was called for, or is about to. */
  get isCurrent(): boolean {
    return this.#window !== undefined && (!this.#isBehind || this.#isAwaited);
  }

  /** Adds a reader. */
  add(reader: LiveReader): void {
    this.#readers.add(reader);
  }

  /** The time of the last broadcast, in milliseconds of `performance.now()`. */
  get lastBroadcastAt(): number {
    return this.#lastBroadcastAt;
  }

  /** Wakes a reader, once, when there is more than the tail holds ready now. */
  wait(reader: LiveReader): void {
    this.#waiting.add(reader);
    if (this.#isBehind) void this.#follow();
  }

  /**
   * Lets a subscriber wait for a reader at the end until it leaves. A call of each reader for each
   * message would cost measurable time when there are many.
   *
   * @returns False where the place is not the end now.
   */
  join(reader: LiveReader, place: string, broadcaster: Broadcaster, subscriber: unknown): boolean {
    if (place !== this.end || this.#isBroadcasting) return false;
    const subscribers = this.#subscribers.get(broadcaster);
    if (subscribers) subscribers.set(subscriber, reader);
    else this.#subscribers.set(broadcaster, new Map([[subscriber, reader]]));
    if (this.#isBehind) void this.#follow();
    return true;
  }

  /** Removes a subscriber that waits at the end. */
  leave(broadcaster: Broadcaster, subscriber: unknown): void {
    const subscribers = this.#subscribers.get(broadcaster);
    subscribers?.delete(subscriber);
    if (subscribers?.size === 0) this.#subscribers.delete(broadcaster);
  }

  /** Removes a reader; the last one ends the tail. */
  remove(reader: LiveReader): void {
    this.#readers.delete(reader);
    this.#waiting.delete(reader);
    if (this.#readers.size === 0) this.#end();
  }

  /** Closes all readers, which ends the tail. */
  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  /** Whether an id is known to be a place in the log. */
  covers(id: string): boolean {
    return this.#window?.covers(id) ?? false;
  }

  /** What is held ready after an id: the same list for all. Undefined where it has to be read from the log. */
  after(id: string): readonly TopicMessage<Data>[] | undefined {
    const { age, now } = this.#options;
    if (age !== Infinity) this.#window?.expire(now() - age);
    return this.#window?.after(id);
  }

  /** Reads what comes after an id from the log, for a reader who is behind. */
  async read(after: string): Promise<LogSlice<Data>> {
    const slice = await this.#log.readShared(after);
    // The log has begun a new life, and nobody may have called.
    if (this.#window && !isSameIncarnation(slice.highWatermark, this.#window.end)) this.#restart(slice.highWatermark);
    return slice;
  }

  async #open(): Promise<void> {
    try {
      this.#restart((await this.#log.bounds()).highWatermark);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Reads up to the end of the log, one reading at a time. A call meanwhile has it read once more. */
  async #follow(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isBehind && this.#isAwaited && this.#window) {
        if (this.#isBusy) await this.#gather();
        if (this.#hasEnded) return;
        const window = this.#window;
        this.#isBehind = false;
        const slice = await this.#log.readLive(window.end);
        const begin = performance.now();
        // The log may have begun a new life meanwhile, in which those who wait at the end have another place.
        if (this.#window === window) this.#take(window, slice);
        else this.#isBehind = true;
        this.#isBusy = slice.messages.length > 1;
        await turn();
        this.#cost = performance.now() - begin;
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isReading = false;
    }
  }

  /**
   * Lets what is published at about the same time come together: with many readers, each handing out costs more than such a wait.
   * Requests that publish are seen to meanwhile. A message that comes alone does not wait for others.
   */
  async #gather(): Promise<void> {
    const end = performance.now() + this.#cost / 8;
    do await turn(); while (performance.now() < end);
  }

  get #isAwaited(): boolean {
    return this.#waiting.size > 0 || this.#subscribers.size > 0;
  }

  #take(window: RecentMessages<Data>, slice: LogSlice<Data>): void {
    const place = window.end;
    if (window.isContinuedBy(slice)) window.extend(slice);
    else this.#restart(slice.highWatermark);
    const { end } = this;
    if (end !== undefined && end < slice.highWatermark) this.#isBehind = true;
    const batch = this.after(place);
    if (!batch) this.#disperse(place);
    else if (batch.length > 0) this.#broadcast(batch);
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const reader of waiting) reader.wake();
  }

  #broadcast(batch: readonly TopicMessage<Data>[]): void {
    this.#isBroadcasting = true;
    this.#lastBroadcastAt = performance.now();
    for (const [broadcaster, subscribers] of this.#subscribers) {
      try {
        broadcaster.broadcast(batch, subscribers.keys());
      } catch (error) {
        for (const reader of subscribers.values()) reader.fail(error);
      }
    }
    this.#isBroadcasting = false;
  }

  /** The end has moved on elsewhere than after the place where it was. */
  #disperse(place: string): void {
    for (const subscribers of this.#subscribers.values()) {
      for (const reader of subscribers.values()) {
        reader.leaveEnd(place);
        this.#waiting.add(reader);
      }
    }
    this.#subscribers.clear();
  }

  /** Goes on at another place. Readers who have not come there find what they miss, or that they miss it, in the log. */
  #restart(place: string): void {
    if (this.#window) this.#disperse(this.#window.end);
    this.#window = new RecentMessages(place, this.#options.buffer, MAX_WINDOW_BYTES);
  }

  #fail(error: unknown): void {
    this.#failure = error;
    const readers = [...this.#readers];
    this.#end();
    for (const reader of readers) reader.fail(error);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#readers.clear();
    this.#subscribers.clear();
    this.#waiting.clear();
    this.#unwatch();
    this.#onEnd();
  }
}
