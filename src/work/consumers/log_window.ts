/** Reads a log for a consumer: ahead of its claims, and single messages again. */
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
import { heldCount, LEFT, type PendingMessage, type Range } from "./record.ts";
import { Discard } from "../../topics/consume_options.ts";

const PAGE: ReadLimits = { maxMessages: 256, maxBytes: 1024 * 1024, isLive: true };
const MAX_CACHED = 2_000;
const MAX_CACHED_BYTES = 4 * 1024 * 1024;

/** The log has another incarnation than the record. */
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
  /** Reads what was given up from its dead letter. */
  readonly readLetter?: ((letter: Cursor, at: Cursor) => Promise<StoredMessage | undefined>) | undefined;
}

/** The next messages of the log, and a cache of earlier ones. */
export class LogWindow {
  readonly #options: LogWindowOptions;
  #incarnation = "";
  /** All messages after `#begin` up to `#end`. */
  #messages: ReadMessage[] = [];
  #begin: Cursor = "";
  #end: Cursor = "";
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

  get messages(): readonly ReadMessage[] {
    return this.#messages;
  }

  /** All messages up to here have been removed. */
  get low(): Cursor {
    return this.#low;
  }

  /** The log may have messages after those in memory. */
  get mayHaveMore(): boolean {
    return this.#mayHaveMore;
  }

  expectMore(): void {
    this.#mayHaveMore = true;
  }

  reset(incarnation: string): void {
    this.#incarnation = incarnation;
    this.#messages = [];
    this.#begin = this.#end = this.#low = "";
    this.#mayHaveMore = true;
    this.#cache.clear();
    this.#cachedBytes = 0;
  }

  /** Moves the start, also backwards. No message is missing after it. */
  startAfter(after: Cursor): void {
    if (after === this.#begin) return;
    if (after < this.#begin || after > this.#end) {
      this.#messages = [];
      this.#end = after;
      this.#mayHaveMore = true;
    }
    this.#begin = after;
    let dropped = 0;
    while (dropped < this.#messages.length && this.#messages[dropped]!.cursor <= after) dropped++;
    if (dropped > 0) this.#messages.splice(0, dropped);
  }

  /** Reads the next page. Concurrent calls share one read. */
  fill(): Promise<void> {
    return this.#reading ??= this.#fill().finally(() => this.#reading = undefined);
  }

  /** @throws {OtherIncarnation} If the log has another incarnation. */
  async settled(): Promise<void> {
    await this.#reading;
  }

  async readAfter(after: Cursor, count: number): Promise<readonly ReadMessage[]> {
    const { lowWatermark, messages } = await this.#read(after, { ...PAGE, maxMessages: count });
    const gap = lowWatermark > after ? lowWatermark : undefined;
    const found = messages.map((stored, index) => this.#toRead(stored, index === 0 ? gap : undefined));
    for (const message of found) this.cache(message);
    return found;
  }

  /** Undefined if the message is no longer in the log. */
  async indexIn(range: Range, at: Cursor): Promise<number | undefined> {
    const found = await this.#readAll(range);
    const index = found.findIndex(({ cursor }) => cursor === at);
    // Removed messages are missing at the start.
    return index < 0 ? undefined : range.count - found.length + index;
  }

  /** The messages that a range still holds, and how many are no longer in the log. */
  async readRange(range: Range): Promise<{ readonly messages: readonly ReadMessage[]; readonly lost: number }> {
    const found = await this.#readAll(range);
    // Removed messages are missing at the start.
    const missing = range.count - found.length;
    const messages = found.filter((_, index) => range.left[missing + index] !== LEFT);
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

  cache(message: ReadMessage): void {
    this.#evict(message.cursor);
    this.#cache.set(message.cursor, message);
    this.#cachedBytes += message.bytes;
    while (this.#cache.size > MAX_CACHED || this.#cachedBytes > MAX_CACHED_BYTES) this.#evict(this.#cache.oldest!.key);
  }

  isCached(cursor: Cursor): boolean {
    return this.#cache.has(cursor);
  }

  /**
   * Loads pending messages, in their order; undefined for one that is neither in the log nor in a
   * dead letter.
   */
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
    for (const { at, letter } of pending) {
      if (letter === undefined || found.get(at) !== undefined) continue;
      const stored = await this.#options.readLetter?.(letter, at);
      if (!stored) continue;
      await this.#checkAsync([stored]);
      found.set(at, this.#toRead(stored));
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
      // The window was moved meanwhile.
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
    const { store, log } = this.#options;
    const incarnation = this.#incarnation;
    const page = await store.read(log, after, limits);
    await this.#checkAsync(page.messages);
    if (page.incarnation !== incarnation || incarnation !== this.#incarnation) throw new OtherIncarnation(page);
    return page;
  }

  async #checkAsync(messages: readonly StoredMessage[]): Promise<void> {
    const { check } = this.#options;
    if (!check?.isAsync) return;
    await Promise.all(messages.map(async (stored) => {
      this.#checked.set(stored, await check.check(stored.data));
    }));
  }

  #toRead(stored: StoredMessage, gap?: Cursor): ReadMessage {
    return new ReadMessage(stored, this.#incarnation, this.#options, this.#checked.get(stored), gap);
  }

  #evict(cursor: Cursor): void {
    this.#cachedBytes -= this.#cache.get(cursor)?.bytes ?? 0;
    this.#cache.delete(cursor);
  }
}

/** After an outage, a server may lack what others have stored. Checks that it does not. */
function checkReaches({ highWatermark }: LogPage, cursor: Cursor): void {
  if (highWatermark < cursor) throw new Error("The store does not have yet what it has recorded before");
}

/** The gaps before messages, the first of which follows the position. */
export function countGaps(after: Cursor, messages: readonly ReadMessage[]): number {
  let gaps = 0;
  let last = after;
  for (const { gap, cursor } of messages) {
    if (gap !== undefined && gap > last) gaps++;
    last = cursor;
  }
  return gaps;
}

export type KeyOf = (message: TopicMessage) => unknown;

interface FoundKey {
  readonly hash?: string;
  readonly fault?: unknown;
}

export interface MessageReading {
  readonly keyOf: KeyOf | undefined;
  /** The check of messages that may be older than the schema of the topic. */
  readonly check?: StoredCheck | undefined;
}

/** A message of the log, which is decoded on first use. */
export class ReadMessage {
  /** All messages up to here were removed before the read; undefined if none was. */
  readonly gap: Cursor | undefined;
  readonly #stored: StoredMessage;
  readonly #incarnation: string;
  readonly #reading: MessageReading;
  #checked: CheckedData | undefined;
  #message: TopicMessage | undefined;
  #key: FoundKey | undefined;

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

  get bytes(): number {
    return this.#stored.bytes;
  }

  get trace(): string | undefined {
    return this.#stored.trace;
  }

  get message(): TopicMessage {
    if (this.#message) return this.#message;
    const checked = this.#check();
    const data = checked?.fault === undefined ? checked?.data : undefined;
    return this.#message = decodeMessage(this.#stored, this.#incarnation, data);
  }

  /** The hash of its key; undefined if the consumer has no keys, or the message has a fault. */
  get key(): string | undefined {
    return this.#findKey().hash;
  }

  /** Why the data does not fit the schema, or the key cannot be used. */
  get fault(): unknown {
    return this.#findKey().fault;
  }

  #check(): CheckedData | undefined {
    return this.#checked ??= this.#reading.check?.check(this.#stored.data) as CheckedData | undefined;
  }

  #findKey(): FoundKey {
    if (this.#key) return this.#key;
    const misfit = this.#check()?.fault;
    // Another attempt would find the same.
    if (misfit !== undefined) {
      return this.#key = { fault: new Discard(`The message does not fit the schema of its topic: ${misfit}`) };
    }
    const { keyOf } = this.#reading;
    return this.#key = keyOf === undefined ? {} : callKey(keyOf, this.message);
  }
}

function callKey(keyOf: KeyOf, message: TopicMessage): FoundKey {
  try {
    const key = keyOf(message);
    if (typeof key === "string") return { hash: hashKey(key) };
    // An unhandled rejection would end this process, and the next one that gets the message.
    if (key instanceof Promise) key.catch(() => {});
    return { fault: new TypeError(`Cannot order the message: its key must be a string, got ${typeof key}`) };
  } catch (fault) {
    // `undefined` can be thrown, too.
    return { fault: fault ?? new TypeError("Cannot order the message: the function key threw nothing") };
  }
}

/** A hash of at most 11 characters. Keys with the same hash share a queue. */
export function hashKey(key: string): string {
  let [high, low] = [0x811c9dc5, 0x9747b28c];
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0x5bd1e995) ^ (high >>> 15);
  }
  high = Math.imul(high ^ (high >>> 16) ^ low, 0x85ebca6b);
  low = Math.imul(low ^ (low >>> 13) ^ high, 0xc2b2ae35);
  // A number holds 53 bits exactly.
  return ((high >>> 11) * 2 ** 32 + ((low ^ (low >>> 16)) >>> 0)).toString(36);
}
