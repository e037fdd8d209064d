/** Reads logs: their batches, and their bounds. */
import {
  type Cursor,
  decodePolicy,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogPosition,
  type LogRef,
  type ReadLimits,
  type StoredMessage,
} from "../topic_store.ts";
import { Semaphore } from "../semaphore.ts";
import type { Listing } from "./batched_reads.ts";
import type { KvEntry, KvKey } from "./engine.ts";
import { type Incarnations, logIncarnationOf } from "./incarnation.ts";
import {
  batchesPrefix,
  batchKeyAfter,
  decodeBatch,
  endOf,
  headKey,
  logEnd,
  lowWatermarkKey,
  measureBatch,
  POLICIES_END,
  POLICIES_START,
  type StoredBatch,
  toCursor,
  VERSION_LENGTH,
} from "./keys.ts";

const MAX_BATCHES = 128;
/** The size of a page, if its later batches are no larger than the first ones. */
const MAX_BYTES = 1024 * 1024;
/** The head, the newest write with ids and the low watermark follow the batches of a log. */
const ENTRIES_AFTER_BATCHES = 3;
/** How many entries are read first, to learn how large batches are. */
const FIRST_ENTRIES = 2 + ENTRIES_AFTER_BATCHES;
/** How many pages are read at once: it bounds the memory, and the load on a slow line, to 8 MiB. */
const MAX_PAGES = 8;
/** How long pages are small after one did not come in time, in milliseconds. */
const SLOW_TIME = 10_000;
const ONE_MESSAGE: ReadLimits = { maxMessages: 1, maxBytes: 1 };
const MAX_POLICIES = 100;

/** Batches without a hole, and the bounds of the log at that moment or later. */
export interface BatchPage extends LogBounds {
  readonly batches: readonly KvEntry[];
  readonly isEnd: boolean;
}

/** Each instance bounds its own reads, so that one kind of reader never waits for another. */
export class KvLogReader {
  readonly #incarnations: Incarnations;
  readonly #now: () => number;
  readonly #pages = new Semaphore(MAX_PAGES);
  #slowUntil = -Infinity;

  constructor(incarnations: Incarnations, now: () => number) {
    this.#incarnations = incarnations;
    this.#now = now;
  }

  /** The policies of all logs that were ever appended to, some at a time. */
  async *policies(signal?: AbortSignal): AsyncGenerator<readonly KvEntry[]> {
    for (let from = POLICIES_START;;) {
      const entries = await this.#incarnations.connection.use(
        (engine) => engine.list(from, POLICIES_END, MAX_POLICIES),
        signal,
      );
      yield entries;
      if (entries.length < MAX_POLICIES) return;
      from = keyAfter(entries.at(-1)!.key);
    }
  }

  async bounds({ name }: Pick<LogRef, "name">, signal?: AbortSignal): Promise<LogBounds> {
    const keys = [headKey(name), lowWatermarkKey(name)];
    const { incarnation, entries: [head, low] } = await this.#incarnations.get(keys, signal);
    return { incarnation: logIncarnationOf(name, incarnation), ...toWatermarks(head, low) };
  }

  /** It skips expired messages, removed or not. */
  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    let lowWatermark = LOG_START;
    let incarnation: string | undefined;
    for (let from = after;;) {
      const page = await this.batches(log.name, from, limits);
      // A new incarnation has begun after the pages before.
      if (page.incarnation !== (incarnation ??= page.incarnation)) return await this.read(log, after, limits);
      if (page.lowWatermark > lowWatermark) lowWatermark = page.lowWatermark;
      const messages: StoredMessage[] = [];
      for (const { key, value } of page.batches) {
        const version = key.at(-1)!;
        const batch = decodeBatch(value);
        if (messages.length === 0 && this.#isTooOld(batch.time, log)) {
          if (endOf(version) > lowWatermark) lowWatermark = endOf(version);
        } else if (!addMessages(messages, version, batch, after, limits)) break;
      }
      if (messages.length > 0 || page.isEnd) {
        const highWatermark = page.highWatermark > lowWatermark ? page.highWatermark : lowWatermark;
        return { incarnation, lowWatermark, highWatermark, messages };
      }
      from = lowWatermark;
    }
  }

  /** A binary search for the first message of a time that has not expired. */
  async seek(log: LogRef, time: Date): Promise<LogPosition> {
    const { incarnation, lowWatermark, highWatermark } = await this.bounds(log);
    const isWanted = ({ value }: KvEntry) => {
      const batch = measureBatch(value);
      return batch.time >= time.getTime() && !this.#isTooOld(batch.time, log);
    };
    // Batches up to `before` are earlier, those after `last` are not.
    let [before, last] = [toVersion(lowWatermark), toVersion(highWatermark)];
    let probe = before;
    while (before < last) {
      const { batches: [batch] } = await this.batches(log.name, endOf(toText(probe)), ONE_MESSAGE);
      const version = batch && toVersion(batch.key.at(-1)!);
      if (version === undefined || version > last || isWanted(batch!)) last = probe;
      else before = version;
      probe = (before + last) / 2n;
    }
    return { incarnation, cursor: before === 0n ? LOG_START : endOf(toText(before)) };
  }

  /**
   * Reads a page of batches after a cursor.
   *
   * At the end of the log, one read has batches, watermarks and incarnation as of the same moment.
   * Elsewhere the bounds are read after the batches: the low watermark then covers whatever was
   * removed before. If a new incarnation has begun in between, the page is read again.
   */
  async batches(name: string, after: Cursor, limits: ReadLimits, signal?: AbortSignal): Promise<BatchPage> {
    const last = batchesPrefix(name).length;
    for (;;) {
      const incarnation = logIncarnationOf(name, await this.#incarnations.current(signal));
      const { entries, isAll } = await this.#readPage(name, after, limits, signal);
      const found = entries.filter(isBatch);
      const find = (key: KvKey) => entries.find((entry) => entry.key[last] === key[last]);
      const head = isAll ? find(headKey(name)) : undefined;
      const bounds = head && new TextDecoder().decode(head.value) === incarnation
        ? { incarnation, ...toWatermarks(head, find(lowWatermarkKey(name))) }
        : await this.bounds({ name }, signal);
      if (bounds.incarnation !== incarnation) continue;
      const batches = found.filter(({ key }) => endOf(key[last]!) > bounds.lowWatermark);
      return { ...bounds, batches, isEnd: isAll || found.length < entries.length };
    }
  }

  async #readPage(
    name: string,
    after: Cursor,
    limits: ReadLimits,
    signal: AbortSignal | undefined,
  ): Promise<Listing> {
    const end = logEnd(name);
    const from = batchKeyAfter(name, after);
    const { reads } = this.#incarnations;
    const readFirst = () => reads.list(from, end, Math.min(FIRST_ENTRIES, limits.maxMessages), signal);
    const readRest = async (first: Listing): Promise<Listing> => {
      if (first.isRepeated) this.#slowUntil = performance.now() + SLOW_TIME;
      const isSlow = performance.now() < this.#slowUntil;
      const rest = first.isAll || isSlow ? 0 : countMore(first.entries, limits);
      if (rest === 0) return first;
      const more = await this.#list(keyAfter(first.entries.at(-1)!.key), end, rest, signal);
      return { ...more, entries: [...first.entries, ...more.entries] };
    };
    if (!reads.isBatched) return await this.#use(async () => await readRest(await readFirst()), signal);
    const first = await readFirst();
    return first.isAll ? first : await this.#use(() => readRest(first), signal);
  }

  async #use(action: () => Promise<Listing>, signal: AbortSignal | undefined): Promise<Listing> {
    try {
      return await this.#pages.use(action);
    } catch (error) {
      // The database cannot be reached: the waiting reads would fail, too, one after the other.
      if (!signal?.aborted) this.#pages.failWaiters(error, this.#incarnations.connection.retryTimeout);
      throw error;
    }
  }

  /** Not with other reads, which would wait for it. */
  async #list(from: KvKey, end: KvKey, limit: number, signal: AbortSignal | undefined): Promise<Listing> {
    let isFirst = true;
    return await this.#incarnations.connection.use(async (engine) => {
      if (!isFirst) this.#slowUntil = performance.now() + SLOW_TIME;
      const asked = isFirst ? limit : 1;
      isFirst = false;
      const entries = await engine.list(from, end, asked);
      return { entries, isAll: entries.length < asked, isRepeated: asked < limit };
    }, signal);
  }

  #isTooOld(time: number, { policy: { age } }: LogRef): boolean {
    return time < this.#now() - age;
  }
}

export function toLog({ key, value }: KvEntry): LogRef {
  return { name: key.at(-1)!, policy: decodePolicy(new TextDecoder().decode(value)) };
}

function keyAfter(key: KvKey): KvKey {
  return [...key.slice(0, -1), `${key.at(-1)}\0`];
}

function isBatch({ key }: KvEntry): boolean {
  return /^[0-9a-f]{20}$/.test(key.at(-1)!);
}

/** How many entries to read, if all batches are about as large as the first ones. */
function countMore(first: readonly KvEntry[], { maxMessages, maxBytes }: ReadLimits): number {
  // The read has reached the end of the batches.
  if (!first.every(isBatch)) return 0;
  let [bytes, messages] = [0, 0];
  for (const { value } of first) {
    bytes += value.length;
    messages += measureBatch(value).count;
  }
  const pages = Math.min(MAX_BYTES / bytes, maxBytes / bytes, maxMessages / messages);
  const wanted = Math.min(Math.ceil(first.length * pages), MAX_BATCHES) - first.length;
  return wanted <= 0 ? 0 : wanted + ENTRIES_AFTER_BATCHES;
}

/** Adds the messages after a cursor. Returns false if they exceed the limits. */
function addMessages(
  messages: StoredMessage[],
  version: string,
  { time, messages: found }: StoredBatch,
  after: Cursor,
  { maxMessages, maxBytes }: ReadLimits,
): boolean {
  let room = messages.reduce((room, { bytes }) => room - bytes, maxBytes);
  for (const [index, { type, data, bytes, trace }] of found.entries()) {
    const cursor = toCursor(version, index, found.length);
    if (cursor <= after) continue;
    room -= bytes;
    if (messages.length > 0 && (messages.length >= maxMessages || room < 0)) return false;
    messages.push({ cursor, type, data, bytes, time, ...(trace !== undefined && { trace }) });
  }
  return true;
}

function toWatermarks(head: KvEntry | undefined, low: KvEntry | undefined): Omit<LogBounds, "incarnation"> {
  const lowest = low ? new TextDecoder().decode(low.value) : LOG_START;
  const highest = head ? endOf(head.version) : LOG_START;
  return { lowWatermark: lowest, highWatermark: highest > lowest ? highest : lowest };
}

function toVersion(cursor: Cursor): bigint {
  return BigInt(`0x${cursor.slice(0, VERSION_LENGTH)}`);
}

function toText(version: bigint): string {
  return version.toString(16).padStart(VERSION_LENGTH, "0");
}
