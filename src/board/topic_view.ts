/** What the board shows of one topic: its size, its rate, and pages of its messages. */
import { cursorBefore, isId, toId, toPosition } from "../topics/message.ts";
import { type Cursor, LOG_START, type LogRef, type StoredMessage, type TopicStore } from "../store/topic_store.ts";
import { POINT } from "./statistics.ts";

const LIMITS = { maxMessages: 1_000, maxBytes: 1024 * 1024 };
/** How many messages a page has. */
export const PAGE = 200;
/** How much of a message a list shows, in characters. */
const PREVIEW = 240;
const POINTS = 120;

/** Consecutive messages that were read together. */
interface Segment {
  /** The position before the first one. */
  after: Cursor;
  last: Cursor;
  count: number;
  bytes: number;
}

/** How many messages in each five seconds of the last ten minutes. */
export interface Rates {
  /** When the first five seconds began, in milliseconds since 1970. */
  readonly begin: number;
  readonly counts: readonly number[];
}

export interface MessageRow {
  readonly id: string;
  readonly time: number;
  readonly type: string | null;
  readonly bytes: number;
  /** The beginning of its JSON. */
  readonly preview: string;
}

export interface MessagePage {
  /** The newest first. */
  readonly messages: readonly MessageRow[];
  /** The id to continue before; null at the beginning of the topic. */
  readonly before: string | null;
}

/** Counts the messages of a topic: each is read once, and removed ones are subtracted. */
export class TopicView {
  readonly log: LogRef;
  readonly #segments: Segment[] = [];
  readonly #counts = new Map<number, number>();
  #incarnation = "";
  #head: Cursor = LOG_START;
  #updating: Promise<void> = Promise.resolve();
  /** When the newest message was stored. */
  newest: number | undefined;

  constructor(log: LogRef) {
    this.log = log;
  }

  get messages(): number {
    return this.#segments.reduce((sum, { count }) => sum + count, 0);
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get head(): string | null {
    return this.#incarnation === "" || this.#head === LOG_START ? null : toId(this.#incarnation, this.#head);
  }

  /** Of the last ten minutes, by the times of the messages. */
  rates(now: number): Rates {
    return ratesOf(this.#counts, now);
  }

  /** Reads what is new. Two readings at once would count messages twice. */
  update(store: TopicStore, now: number): Promise<void> {
    const update = () => this.#updateNow(store, now);
    return this.#updating = this.#updating.then(update, update);
  }

  async #updateNow(store: TopicStore, now: number): Promise<void> {
    let low = LOG_START;
    for (;;) {
      const page = await store.read(this.log, this.#head, LIMITS);
      if (page.incarnation !== this.#incarnation) {
        this.#forget(page.incarnation);
        if (page.messages.length === 0) break;
      }
      if (page.lowWatermark > low) low = page.lowWatermark;
      if (page.messages.length === 0) break;
      this.#add(page.messages);
    }
    await this.#remove(store, low);
    for (const time of this.#counts.keys()) if (time < now - (POINTS + 1) * POINT) this.#counts.delete(time);
  }

  /** The messages before an id, or the newest ones. */
  async before(store: TopicStore, id: string | undefined): Promise<MessagePage> {
    const end = id === undefined ? undefined : toPosition(id).cursor;
    const rows: StoredMessage[] = [];
    for (const { after } of this.#segments.toReversed()) {
      if (end !== undefined && after >= end) continue;
      if (rows.length >= PAGE) break;
      rows.unshift(...(await this.#readUpTo(store, after, rows[0]?.cursor ?? end)));
    }
    return this.#page(rows.slice(-PAGE), rows.length > PAGE || this.#hasBefore(rows[0]?.cursor));
  }

  /** The messages up to one, with it. */
  async upTo(store: TopicStore, { cursor }: StoredMessage): Promise<MessagePage> {
    const next = (BigInt(`0x${cursor}`) + 1n).toString(16).padStart(cursor.length, "0");
    return await this.before(store, toId(this.#incarnation, next));
  }

  /** The first messages from a time on, as they were stored. */
  async from(store: TopicStore, time: Date): Promise<MessagePage> {
    const { cursor } = await store.seek(this.log, time);
    const { messages } = await store.read(this.log, cursor, { maxMessages: PAGE, maxBytes: LIMITS.maxBytes });
    return this.#page(messages, this.#hasBefore(messages[0]?.cursor));
  }

  /** Undefined if it is no longer stored. */
  async find(store: TopicStore, id: string): Promise<StoredMessage | undefined> {
    if (!isId(id)) return undefined;
    const { incarnation, cursor } = toPosition(id);
    const page = await store.read(this.log, cursorBefore(cursor), { maxMessages: 1, maxBytes: LIMITS.maxBytes });
    const [message] = page.messages;
    return page.incarnation === incarnation && message?.cursor === cursor ? message : undefined;
  }

  #page(messages: readonly StoredMessage[], hasMore: boolean): MessagePage {
    const toRow = ({ cursor, time, type, bytes, data }: StoredMessage): MessageRow => {
      return {
        id: toId(this.#incarnation, cursor),
        time,
        type: type ?? null,
        bytes,
        preview: data.slice(0, PREVIEW).toWellFormed(),
      };
    };
    const rows = messages.map(toRow).reverse();
    return { messages: rows, before: hasMore ? rows.at(-1)!.id : null };
  }

  #hasBefore(cursor: Cursor | undefined): boolean {
    const [first] = this.#segments;
    return cursor !== undefined && first !== undefined && BigInt(`0x${first.after}`) + 1n < BigInt(`0x${cursor}`);
  }

  async #readUpTo(store: TopicStore, after: Cursor, end: Cursor | undefined): Promise<StoredMessage[]> {
    const found: StoredMessage[] = [];
    for (let from = after;;) {
      const { messages } = await store.read(this.log, from, LIMITS);
      const kept = end === undefined ? messages : messages.filter(({ cursor }) => cursor < end);
      found.push(...kept);
      if (messages.length === 0 || kept.length < messages.length) return found;
      from = messages.at(-1)!.cursor;
    }
  }

  #forget(incarnation: string): void {
    this.#segments.length = 0;
    this.#counts.clear();
    this.#incarnation = incarnation;
    this.#head = LOG_START;
    this.newest = undefined;
  }

  #add(messages: readonly StoredMessage[]): void {
    let open = this.#segments.at(-1);
    if (!open || open.count + messages.length > LIMITS.maxMessages) {
      open = { after: this.#head, last: this.#head, count: 0, bytes: 0 };
      this.#segments.push(open);
    }
    for (const { cursor, bytes, time } of messages) {
      open.count++;
      open.bytes += bytes;
      open.last = this.#head = cursor;
      this.newest = time;
      const slot = time - time % POINT;
      this.#counts.set(slot, (this.#counts.get(slot) ?? 0) + 1);
    }
  }

  /** Subtracts what retention has removed. */
  async #remove(store: TopicStore, low: Cursor): Promise<void> {
    while (this.#segments[0] && this.#segments[0].last <= low) this.#segments.shift();
    const [first] = this.#segments;
    if (!first || first.after >= low) return;
    const { messages } = await store.read(this.log, low, LIMITS);
    const kept = messages.filter(({ cursor }) => cursor <= first.last);
    // The page may be shorter than the segment: then it is counted at the next update.
    if (kept.at(-1)?.cursor !== first.last) return;
    first.after = low;
    first.count = kept.length;
    first.bytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

/** @param counts By the begin of their five seconds. */
export function ratesOf(counts: ReadonlyMap<number, number>, now: number): Rates {
  const begin = now - now % POINT - (POINTS - 1) * POINT;
  return { begin, counts: Array.from({ length: POINTS }, (_, index) => counts.get(begin + index * POINT) ?? 0) };
}
