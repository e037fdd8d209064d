/** Follows the log of a topic once for all its readers in this process. */
import { nodeTimers } from "../base/runtime.ts";
import { detached } from "../log/log.ts";
import { isMisfit, isSameIncarnation, type TopicMessage, uniformRun } from "./message.ts";
import type { LogSlice, TopicLog } from "./topic_log.ts";

/** The most bytes of data in memory. A single larger message stays, too. */
const MAX_RECENT_BYTES = 1024 * 1024;

export interface LiveReader {
  wake(): void;
  /** The end has moved: the reader must read the log from here. */
  leaveEnd(position: string): void;
  fail(error: unknown): void;
  close(): void;
}

/** Sends the messages that arrive at the end of a topic to many subscribers at once. */
export interface Broadcaster<Subscriber = unknown> {
  /**
   * Sends messages to subscribers, which all wait for the next ones afterwards. A subscriber that
   * cannot accept them must leave the follower during this call.
   */
  broadcast(messages: readonly TopicMessage[], subscribers: Iterable<Subscriber>): void;
}

interface FollowerOptions {
  readonly buffer: number;
  readonly age: number;
  readonly now: () => number;
}

/**
 * Reads the log when it may have grown and a reader waits. Otherwise it falls behind at no cost. It
 * learns of messages only by reads: a call of the store is a hint.
 */
export class LogFollower<Data> {
  readonly #log: TopicLog<Data>;
  readonly #options: FollowerOptions;
  readonly #onEnd: () => void;
  readonly #unwatch: () => void;
  readonly #readers = new Set<LiveReader>();
  #waiting = new Set<LiveReader>();
  /** Subscribers at the end, with their readers. Their positions move with the end. */
  readonly #subscribers = new Map<Broadcaster, Map<unknown, LiveReader>>();
  #recent: RecentMessages<Data> | undefined;
  #isBroadcasting = false;
  #lastBroadcastAt = -Infinity;
  #isFollowing = false;
  /** The log may have grown since it was read. */
  #isBehind = false;
  /** The last read had several messages, so more are likely to follow the next one. */
  #isBurst = false;
  /** How long the last delivery took, in milliseconds. */
  #deliveryTime = 0;
  #hasEnded = false;

  /** The end when it began to follow. Rejects if the log cannot be read. */
  readonly opened: Promise<string>;

  /** `onEnd`: the last reader has left, or the log cannot be read. */
  constructor(log: TopicLog<Data>, options: FollowerOptions, onEnd: () => void) {
    this.#log = log;
    this.#options = options;
    this.#onEnd = onEnd;
    // The watch begins before the first read, so that no append between the two is missed.
    this.#unwatch = log.watch(() => {
      this.#isBehind = true;
      this.#follow();
    });
    this.opened = this.#open();
    this.opened.catch((error) => this.#fail(error));
  }

  get end(): string | undefined {
    return this.#recent?.end;
  }

  /** It has read all appends that it knows of, or is about to. */
  get isCurrent(): boolean {
    return this.#recent !== undefined && (!this.#isBehind || this.#isAwaited);
  }

  /** By `performance.now()`. */
  get lastBroadcastAt(): number {
    return this.#lastBroadcastAt;
  }

  get size(): number {
    return this.#readers.size;
  }

  add(reader: LiveReader): void {
    this.#readers.add(reader);
  }

  /** The last reader that leaves ends the follower. */
  remove(reader: LiveReader): void {
    this.#readers.delete(reader);
    this.#waiting.delete(reader);
    if (this.#readers.size === 0) this.#end();
  }

  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  /** Wakes a reader, once, when there is more to read. */
  wait(reader: LiveReader): void {
    this.#waiting.add(reader);
    if (this.#isBehind) this.#follow();
  }

  /**
   * Makes a subscriber wait at the end in place of its reader. With many subscribers, a call of
   * each reader for each message would cost measurable time.
   *
   * @returns False if the position is no longer the end.
   */
  join(reader: LiveReader, position: string, broadcaster: Broadcaster, subscriber: unknown): boolean {
    if (position !== this.end || this.#isBroadcasting) return false;
    const subscribers = this.#subscribers.get(broadcaster);
    if (subscribers) subscribers.set(subscriber, reader);
    else this.#subscribers.set(broadcaster, new Map([[subscriber, reader]]));
    if (this.#isBehind) this.#follow();
    return true;
  }

  leave(broadcaster: Broadcaster, subscriber: unknown): void {
    const subscribers = this.#subscribers.get(broadcaster);
    subscribers?.delete(subscriber);
    if (subscribers?.size === 0) this.#subscribers.delete(broadcaster);
  }

  covers(id: string): boolean {
    return this.#recent?.covers(id) ?? false;
  }

  /**
   * The recent messages after an id that all fit the schema of the topic, or that all do not: the
   * same array for all. Undefined if only the log has them.
   */
  after(id: string): readonly TopicMessage<Data>[] | undefined {
    const { age, now } = this.#options;
    if (age !== Infinity) this.#recent?.expire(now() - age);
    return this.#recent?.after(id);
  }

  async read(after: string): Promise<LogSlice<Data>> {
    const slice = await this.#log.readShared(after);
    // The log has a new incarnation, and the store may not have called back for it.
    if (this.#recent && !isSameIncarnation(slice.highWatermark, this.#recent.end)) this.#restart(slice.highWatermark);
    return slice;
  }

  get #isAwaited(): boolean {
    return this.#waiting.size > 0 || this.#subscribers.size > 0;
  }

  async #open(): Promise<string> {
    const { highWatermark } = await this.#log.bounds();
    this.#restart(highWatermark);
    return highWatermark;
  }

  /** One read at a time: appends meanwhile cause another one. */
  #follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    // It reads for all, whichever reader is the first to wait.
    void detached(() => this.#readToEnd());
  }

  async #readToEnd(): Promise<void> {
    try {
      while (this.#isBehind && this.#isAwaited && this.#recent) {
        if (this.#isBurst) await this.#gather();
        if (this.#hasEnded) return;
        const recent = this.#recent;
        this.#isBehind = false;
        const slice = await this.#log.readLive(recent.end);
        const begin = performance.now();
        // If the log was restarted during the read, subscribers at the end have another position
        // now.
        if (this.#recent === recent) this.#deliver(recent, slice);
        else this.#isBehind = true;
        this.#isBurst = slice.messages.length > 1;
        await nextTurn();
        this.#deliveryTime = performance.now() - begin;
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isFollowing = false;
    }
  }

  /**
   * Waits for messages that are published at about the same time: with many readers, a delivery
   * costs more than this wait. A message that comes alone does not wait.
   */
  async #gather(): Promise<void> {
    const end = performance.now() + this.#deliveryTime / 8;
    do await nextTurn(); while (performance.now() < end);
  }

  #deliver(recent: RecentMessages<Data>, slice: LogSlice<Data>): void {
    const position = recent.end;
    if (recent.isContinuedBy(slice)) recent.extend(slice);
    else this.#restart(slice.highWatermark);
    const { end } = this;
    if (end !== undefined && end < slice.highWatermark) this.#isBehind = true;
    const messages = this.after(position);
    const last = messages?.at(-1);
    // The reader of a subscriber finds out what is missing.
    if (!messages || isMisfit(last) || (last && last.id !== this.end)) this.#releaseSubscribers(position);
    else if (last) this.#broadcast(messages);
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const reader of waiting) reader.wake();
  }

  #broadcast(messages: readonly TopicMessage<Data>[]): void {
    this.#isBroadcasting = true;
    this.#lastBroadcastAt = performance.now();
    for (const [broadcaster, subscribers] of this.#subscribers) {
      try {
        broadcaster.broadcast(messages, subscribers.keys());
      } catch (error) {
        for (const reader of subscribers.values()) reader.fail(error);
      }
    }
    this.#isBroadcasting = false;
  }

  /** Returns subscribers to their readers, at the position where the end was before. */
  #releaseSubscribers(position: string): void {
    for (const subscribers of this.#subscribers.values()) {
      for (const reader of subscribers.values()) {
        reader.leaveEnd(position);
        this.#waiting.add(reader);
      }
    }
    this.#subscribers.clear();
  }

  /** Readers elsewhere find what they miss, or a gap, in the log. */
  #restart(position: string): void {
    if (this.#recent) this.#releaseSubscribers(this.#recent.end);
    this.#recent = new RecentMessages(position, this.#options.buffer, MAX_RECENT_BYTES);
  }

  #fail(error: unknown): void {
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

/** The event loop handles what has arrived from elsewhere. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => nodeTimers().setImmediate(resolve));
}

const MAX_LISTS = 16;

/** The newest messages that this process has read, without a hole. */
export class RecentMessages<Data> {
  readonly #maxMessages: number;
  readonly #maxBytes: number;
  #messages: TopicMessage<Data>[] = [];
  #sizes: number[] = [];
  #bytes = 0;
  #start: string;
  #end: string;
  /** Arrays by index: all readers at one position get the same one. */
  readonly #lists = new Map<number, readonly TopicMessage<Data>[]>();

  constructor(start: string, maxMessages: number, maxBytes: number) {
    this.#start = this.#end = start;
    this.#maxMessages = maxMessages;
    this.#maxBytes = maxBytes;
  }

  get end(): string {
    return this.#end;
  }

  /** No message is missing before the slice. */
  isContinuedBy(slice: LogSlice<Data>): boolean {
    return isSameIncarnation(slice.highWatermark, this.#end) && slice.lowWatermark <= this.#end;
  }

  /** Adds what follows, and drops what the store has removed. */
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
    this.#lists.clear();
  }

  expire(time: number): void {
    const [oldest] = this.#messages;
    if (oldest === undefined || oldest.time.getTime() >= time) return;
    this.#dropWhile((message) => message.time.getTime() < time);
    this.#lists.clear();
  }

  /** The first messages that all fit, or all do not. Undefined if older ones were dropped. */
  after(id: string): readonly TopicMessage<Data>[] | undefined {
    if (!isSameIncarnation(id, this.#start) || id < this.#start) return undefined;
    const index = this.#indexAfter(id);
    const list = this.#lists.get(index);
    if (list) return list;
    const messages = uniformRun(Object.freeze(this.#messages.slice(index)));
    // Clients choose the ids that they resume after.
    if (this.#lists.size === MAX_LISTS) this.#lists.clear();
    this.#lists.set(index, messages);
    return messages;
  }

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

  #dropWhile(isDropped: (message: TopicMessage<Data>, count: number) => boolean): void {
    let dropped = 0;
    for (const message of this.#messages) {
      if (!isDropped(message, this.#messages.length - dropped)) break;
      this.#bytes -= this.#sizes[dropped] ?? 0;
      this.#start = message.id;
      dropped++;
    }
    this.#messages.splice(0, dropped);
    this.#sizes.splice(0, dropped);
  }
}
