/** Reads the log ahead of what is claimed, and messages that are held by themselves. */
import { OrderedMap } from "../../base/ordered_map.ts";
import { cursorBefore, decodeMessage, type TopicMessage } from "../../topics/message.ts";
import type {
  Cursor,
  LogBounds,
  LogPage,
  LogRef,
  ReadLimits,
  StoredMessage,
  TopicStore,
} from "../../store/topic_store.ts";
import type { CheckedData, StoredCheck } from "../../topics/topic_log.ts";
import { heldCount, type PendingMessage, type Range } from "./record.ts";
import { Discard } from "../../topics/consume_options.ts";

/** How much is read at once. */
const PAGE: ReadLimits = { maxMessages: 256, maxBytes: 1024 * 1024, isLive: true };
/** How many messages are kept that will be tried again, and how many bytes of data they have. */
const MAX_CACHED = 2_000;
const MAX_CACHED_BYTES = 4 * 1024 * 1024;

/** The log is another one than that of the record. */
export class OtherIncarnation extends Error {
  readonly bounds: LogBounds;

  constructor(bounds: LogBounds) {
    super("The log is another one than before");
    this.bounds = bounds;
  }
}

export interface LogWindowOptions extends MessageReading {
  readonly store: TopicStore;
  readonly log: LogRef;
}

/** The messages that come next, and others that were read before. */
export class LogWindow {
  readonly #options: LogWindowOptions;
  #incarnation = "";
  /** All messages between the next two positions. */
  #messages: ReadMessage[] = [];
  #begin: Cursor = "";
  #end: Cursor = "";
  /** All up to here was removed when the log was read last. */
  #low: Cursor = "";
  #mayHaveMore = true;
  #reading: Promise<void> | undefined;
  readonly #cache = new OrderedMap<Cursor, ReadMessage>();
  /** The results of an async check. */
  readonly #checked = new WeakMap<StoredMessage, CheckedData>();
  #cachedBytes = 0;

  constructor(options: LogWindowOptions) {
    this.#options = options;
  }

  /** The messages that come next. */
  get messages(): readonly ReadMessage[] {
    return this.#messages;
  }

  /** All up to here is known to be removed. */
  get low(): Cursor {
    return this.#low;
  }

  /** Whether the log may have messages after those that were read. */
  get mayHaveMore(): boolean {
    return this.#mayHaveMore;
  }

  /** The log may have grown. */
  expectMore(): void {
    this.#mayHaveMore = true;
  }

  /** Begins with another incarnation of the log. */
  reset(incarnation: string): void {
    this.#incarnation = incarnation;
    this.#messages = [];
    this.#begin = this.#end = this.#low = "";
    this.#mayHaveMore = true;
    this.#cache.clear();
    this.#cachedBytes = 0;
  }

  /**
   * Lets the messages begin after a position, so that none is missing between it and the first of
   * them. The position may be an earlier one than before.
   */
  startAfter(place: Cursor): void {
    if (place === this.#begin) return;
    if (place < this.#begin || place > this.#end) {
      this.#messages = [];
      this.#end = place;
      this.#mayHaveMore = true;
    }
    this.#begin = place;
    let dropped = 0;
    while (dropped < this.#messages.length && this.#messages[dropped]!.cursor <= place) dropped++;
    if (dropped > 0) this.#messages.splice(0, dropped);
  }

  /** Reads on. Calls at the same time are one. */
  fill(): Promise<void> {
    return this.#reading ??= this.#fill().finally(() => this.#reading = undefined);
  }

  /**
   * Waits until nothing is being read.
   *
   * @throws {OtherIncarnation} If the log is another one.
   */
  async settled(): Promise<void> {
    await this.#reading;
  }

  /** The first messages after a position, which are kept in memory. */
  async readAfter(place: Cursor, count: number): Promise<readonly ReadMessage[]> {
    const { lowWatermark, messages } = await this.#read(place, { ...PAGE, maxMessages: count });
    const gap = lowWatermark > place ? lowWatermark : undefined;
    const found = messages.map((stored, index) => this.#toRead(stored, index === 0 ? gap : undefined));
    for (const message of found) this.cache(message);
    return found;
  }

  /** Which message of a range one is; undefined if it is not in the log any more. */
  async indexIn(range: Range, at: Cursor): Promise<number | undefined> {
    const found = await this.#readAll(range);
    const index = found.findIndex(({ cursor }) => cursor === at);
    // What was removed is missing at the beginning.
    return index < 0 ? undefined : range.count - found.length + index;
  }

  /** What a range still holds, and how many of these are not in the log any more. */
  async readRange(range: Range): Promise<{ readonly messages: readonly ReadMessage[]; readonly lost: number }> {
    const found = await this.#readAll(range);
    // What was removed is missing at the beginning.
    const missing = range.count - found.length;
    const messages = found.filter((_, index) => range.done[missing + index] !== "1");
    for (const message of messages) this.cache(message);
    return { messages, lost: heldCount(range) - messages.length };
  }

  async #readAll(range: Range): Promise<ReadMessage[]> {
    const found: ReadMessage[] = [];
    for (let from = range.from; from < range.to;) {
      const page = await this.#read(from, { ...PAGE, maxMessages: Math.min(range.count, PAGE.maxMessages) });
      for (const stored of page.messages) if (stored.cursor <= range.to) found.push(this.#toRead(stored));
      if (page.messages.length === 0) checkReaches(page, range.to);
      from = page.messages.at(-1)?.cursor ?? range.to;
    }
    return found;
  }

  /** Keeps a message in memory that will be tried again. */
  cache(message: ReadMessage): void {
    this.#evict(message.cursor);
    this.#cache.set(message.cursor, message);
    this.#cachedBytes += message.bytes;
    while (this.#cache.size > MAX_CACHED || this.#cachedBytes > MAX_CACHED_BYTES) this.#evict(this.#cache.oldest!.key);
  }

  /** Whether a message is in memory. */
  isCached(cursor: Cursor): boolean {
    return this.#cache.has(cursor);
  }

  /** The messages of some entries of the record, in their order; undefined for one that is gone. */
  async load(pending: readonly PendingMessage[]): Promise<(ReadMessage | undefined)[]> {
    const found = new Map<Cursor, ReadMessage | undefined>();
    for (const { at } of pending) if (this.#cache.has(at)) found.set(at, this.#cache.get(at));
    const missing = pending.map(({ at }) => at).filter((at) => !found.has(at)).sort();
    const wanted = new Set(missing);
    for (const [index, at] of missing.entries()) {
      if (found.has(at)) continue;
      const page = await this.#read(cursorBefore(at), { ...PAGE, maxMessages: missing.length - index });
      checkReaches(page, at);
      found.set(at, undefined);
      for (const stored of page.messages) if (wanted.has(stored.cursor)) found.set(stored.cursor, this.#toRead(stored));
    }
    for (const { at } of pending) this.#evict(at);
    return pending.map(({ at }) => found.get(at));
  }

  async #fill(): Promise<void> {
    this.#mayHaveMore = false;
    const end = this.#end;
    try {
      const page = await this.#read(end, PAGE);
      this.#low = page.lowWatermark;
      // Meanwhile the messages begin elsewhere.
      if (this.#end !== end) return this.expectMore();
      const last = page.messages.at(-1);
      if (last === undefined) return;
      const gap = page.lowWatermark > end ? page.lowWatermark : undefined;
      for (const [index, stored] of page.messages.entries()) {
        this.#messages.push(this.#toRead(stored, index === 0 ? gap : undefined));
      }
      this.#end = last.cursor;
      if (last.cursor < page.highWatermark) this.#mayHaveMore = true;
    } catch (error) {
      this.#mayHaveMore = true;
      throw error;
    }
  }

  async #read(after: Cursor, limits: ReadLimits): Promise<LogPage> {
    const { store, log, check } = this.#options;
    const incarnation = this.#incarnation;
    const page = await store.read(log, after, limits);
    if (check?.isAsync) {
      await Promise.all(page.messages.map(async (stored) => {
        this.#checked.set(stored, await check.check(JSON.parse(stored.data)));
      }));
    }
    if (page.incarnation !== incarnation || incarnation !== this.#incarnation) throw new OtherIncarnation(page);
    return page;
  }

  #toRead(stored: StoredMessage, gap?: Cursor): ReadMessage {
    return new ReadMessage(stored, this.#incarnation, this.#options, this.#checked.get(stored), gap);
  }

  #evict(cursor: Cursor): void {
    this.#cachedBytes -= this.#cache.get(cursor)?.bytes ?? 0;
    this.#cache.delete(cursor);
  }
}

/**
 * Checks that a page comes from a server that has a message, or had it: one that was away does not
 * know yet what the others have stored. A log that was set back becomes another incarnation.
 */
function checkReaches({ highWatermark }: LogPage, cursor: Cursor): void {
  if (highWatermark < cursor) throw new Error("The store does not have yet what it has recorded before");
}

/** Before how many of some messages others are missing. The first one comes after the position. */
export function countGaps(place: Cursor, messages: readonly ReadMessage[]): number {
  let gaps = 0;
  let last = place;
  for (const { gap, cursor } of messages) {
    if (gap !== undefined && gap > last) gaps++;
    last = cursor;
  }
  return gaps;
}

/** The option `key` of a consumer. */
export type KeyOf = (message: TopicMessage) => unknown;

/** How messages are read. */
export interface MessageReading {
  /** The option `key` of the consumer. */
  readonly keyOf: KeyOf | undefined;
  /** Checks the data, if the schema of the topic may be newer. */
  readonly check?: StoredCheck | undefined;
}

/** A message that was read. It is decoded when it is needed. */
export class ReadMessage {
  /** All up to here was removed when it was read, and so was not read; undefined if nothing was. */
  readonly gap: Cursor | undefined;
  readonly #stored: StoredMessage;
  readonly #incarnation: string;
  readonly #reading: MessageReading;
  #checked: CheckedData | undefined;
  #message: TopicMessage | undefined;
  #key: { readonly hash?: string; readonly fault?: unknown } | undefined;

  /**
   * @param stored The message as it is stored.
   * @param incarnation The incarnation of its log.
   * @param reading How it is read.
   * @param checked The result of the check, if that is async.
   * @param gap All up to here was removed.
   */
  constructor(
    stored: StoredMessage,
    incarnation: string,
    reading: MessageReading,
    checked: CheckedData | undefined,
    gap?: Cursor,
  ) {
    this.gap = gap;
    this.#checked = checked;
    this.#stored = stored;
    this.#incarnation = incarnation;
    this.#reading = reading;
  }

  get cursor(): Cursor {
    return this.#stored.cursor;
  }

  /** The bytes of its data. */
  get bytes(): number {
    return this.#stored.bytes;
  }

  /** The trace of its publisher. */
  get trace(): string | undefined {
    return this.#stored.trace;
  }

  get message(): TopicMessage {
    return this.#message ??= this.#decode();
  }

  /**
   * What stands for its key; undefined if the consumer has no keys, or this message has a fault.
   */
  get key(): string | undefined {
    return this.#findKey().hash;
  }

  /**
   * Why the data does not fit the schema of the topic, or what is wrong with the key; undefined if
   * all is well.
   */
  get fault(): unknown {
    return this.#findKey().fault;
  }

  #decode(): TopicMessage {
    const checked = this.#check();
    return decodeMessage(this.#stored, this.#incarnation, checked?.fault === undefined ? checked?.data : undefined);
  }

  #check(): CheckedData | undefined {
    return this.#checked ??= this.#reading.check?.check(JSON.parse(this.#stored.data)) as CheckedData | undefined;
  }

  #findKey(): { readonly hash?: string; readonly fault?: unknown } {
    return this.#key ??= this.#checkAndCallKey();
  }

  #checkAndCallKey(): { readonly hash?: string; readonly fault?: unknown } {
    const misfit = this.#check()?.fault;
    // Another try would find the same.
    if (misfit !== undefined) {
      return { fault: new Discard(`The message does not fit the schema of its topic: ${misfit}`) };
    }
    return this.#reading.keyOf === undefined ? {} : this.#callKey(this.#reading.keyOf);
  }

  #callKey(keyOf: KeyOf): { readonly hash?: string; readonly fault?: unknown } {
    try {
      const key = keyOf(this.message);
      if (typeof key === "string") return { hash: hashKey(key) };
      // A rejection that nobody handles would end the process, and then the next one.
      if (key instanceof Promise) key.catch(() => {});
      return { fault: new TypeError(`Cannot order the message: its key must be a text, got ${typeof key}`) };
    } catch (fault) {
      // `undefined` can be thrown, too.
      return { fault: fault ?? new TypeError("Cannot order the message: the function key threw nothing") };
    }
  }
}

/**
 * A key as a text of at most 11 characters. Two keys that give the same text share one queue, which
 * is slower, and no mistake.
 */
export function hashKey(key: string): string {
  let [high, low] = [0x811c9dc5, 0x9747b28c];
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0x5bd1e995) ^ (high >>> 15);
  }
  high = Math.imul(high ^ (high >>> 16) ^ low, 0x85ebca6b);
  low = Math.imul(low ^ (low >>> 13) ^ high, 0xc2b2ae35);
  // 53 bits are what a number holds exactly.
  return ((high >>> 11) * 2 ** 32 + ((low ^ (low >>> 16)) >>> 0)).toString(36);
}
