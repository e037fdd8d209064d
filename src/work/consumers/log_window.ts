/** Reads the log ahead of what is claimed, and messages that are held by themselves. */
import { OrderedMap } from "../../base/ordered_map.ts";
import { cursorBefore } from "../../topics/message.ts";
import type {
  Cursor,
  LogBounds,
  LogPage,
  LogRef,
  ReadLimits,
  StoredMessage,
  TopicStore,
} from "../../store/topic_store.ts";
import type { CheckedData } from "../../topics/stored_check.ts";
import { type MessageReading, ReadMessage } from "./read_message.ts";
import { heldCount, type Late, type Range } from "./record.ts";

/** How much is read at once. */
const PAGE: ReadLimits = { maxMessages: 256, maxBytes: 1024 * 1024, isLive: true };
/** How many messages are kept that will be tried again, and how many bytes of data they have. */
const MAX_KEPT = 2_000;
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

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
  readonly #kept = new OrderedMap<Cursor, ReadMessage>();
  /** The results of an async check. */
  readonly #checked = new WeakMap<StoredMessage, CheckedData>();
  #keptBytes = 0;

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
    this.#kept.clear();
    this.#keptBytes = 0;
  }

  /**
   * Lets the messages begin after a position, so that none is missing between it and the first of
   * them. The position may be an earlier one than before.
   */
  beginAt(place: Cursor): void {
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
    for (const message of found) this.keep(message);
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
    for (const message of messages) this.keep(message);
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
  keep(message: ReadMessage): void {
    this.#forget(message.cursor);
    this.#kept.set(message.cursor, message);
    this.#keptBytes += message.bytes;
    while (this.#kept.size > MAX_KEPT || this.#keptBytes > MAX_KEPT_BYTES) this.#forget(this.#kept.oldest!.key);
  }

  /** Whether a message is in memory. */
  keeps(cursor: Cursor): boolean {
    return this.#kept.has(cursor);
  }

  /** The messages of some entries of the record, in their order; undefined for one that is gone. */
  async load(late: readonly Late[]): Promise<(ReadMessage | undefined)[]> {
    const found = new Map<Cursor, ReadMessage | undefined>();
    for (const { at } of late) if (this.#kept.has(at)) found.set(at, this.#kept.get(at));
    const missing = late.map(({ at }) => at).filter((at) => !found.has(at)).sort();
    const wanted = new Set(missing);
    for (const [index, at] of missing.entries()) {
      if (found.has(at)) continue;
      const page = await this.#read(cursorBefore(at), { ...PAGE, maxMessages: missing.length - index });
      checkReaches(page, at);
      found.set(at, undefined);
      for (const stored of page.messages) if (wanted.has(stored.cursor)) found.set(stored.cursor, this.#toRead(stored));
    }
    for (const { at } of late) this.#forget(at);
    return late.map(({ at }) => found.get(at));
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

  #forget(cursor: Cursor): void {
    this.#keptBytes -= this.#kept.get(cursor)?.bytes ?? 0;
    this.#kept.delete(cursor);
  }
}

/**
 * Checks that a page comes from a server that has a message, or had it: one that was away does not
 * know yet what the others have stored. A log that was set back becomes another incarnation.
 */
function checkReaches({ highWatermark }: LogPage, cursor: Cursor): void {
  if (highWatermark < cursor) throw new Error("The store does not have yet what it has said before");
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
