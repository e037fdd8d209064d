/** Removes what logs do not keep. One process does it for all: the one that holds the lease. */
import { type Cursor, LOG_START, type LogBounds, type LogPolicy, type LogRef } from "../store.ts";
import type { Connection, Kind } from "./connection.ts";
import { KEYS_PER_READ, type KvEngine, type KvEntry, type KvKey } from "./engine.ts";
import { checkOf, type Incarnation, toIncarnation } from "./incarnation.ts";
import {
  decodePolicy,
  endOf,
  headKey,
  INCARNATION_KEY,
  LEASE_KEY,
  lowWatermarkKey,
  measureRecord,
  POLICIES_END,
  POLICIES_START,
  type RecordSize,
  recordsPrefix,
} from "./keys.ts";
import { keyAfter, type KvLogReader, type PageLimits, type RecordPage } from "./log_reader.ts";

/** A lease that is not renewed is taken after so many rounds. */
const LEASE_ROUNDS = 3;
/** How many logs are listed at once. */
const LOGS_PER_READ = 100;
/**
 * How often a removal may be refused, because somebody else removes, too. The next round goes on
 * with it.
 */
const MAX_REFUSALS = 10;
/** The most bytes of keys of one write, of which Deno KV takes 80 KiB. */
const MAX_KEY_BYTES = 64 * 1024;

/** What a worker needs. */
export interface RetentionWorkerOptions {
  /** The database. */
  readonly connection: Connection;
  /** Reads logs. */
  readonly reader: KvLogReader;
  /** How often logs are trimmed, in milliseconds. */
  readonly interval: number;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/** A log that is being trimmed. */
interface Trimming {
  readonly log: LogRef;
  readonly incarnation: Incarnation;
  /** The cursor of its newest message when this began. */
  readonly head: Cursor;
  /** The time then, in milliseconds since 1970. */
  readonly time: number;
  /** Keeps the lease. Returns whether it is still held. */
  readonly keepLease: () => Promise<boolean>;
}

/** The low watermark of a log, and the version of its entry. */
interface LowWatermark {
  readonly cursor: Cursor;
  readonly version: string | null;
}

/** Trims logs. */
export class RetentionWorker {
  readonly #options: RetentionWorkerOptions;
  readonly #id = new TextEncoder().encode(crypto.randomUUID());
  readonly #closing = new AbortController();
  /** By the names of the logs. */
  readonly #indexes = new Map<string, RetentionIndex>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round: Promise<void> = Promise.resolve();
  /** The lease as it was seen last, and how often in a row; 0 if it is held here. */
  #lease: { readonly version: string | null; readonly sightings: number } | undefined;
  /** When it was taken or renewed last, in milliseconds of `performance.now()`. */
  #renewedAt = 0;

  /** Does nothing yet. */
  constructor(options: RetentionWorkerOptions) {
    this.#options = options;
  }

  /** Begins to trim all logs of the database regularly. */
  start(): void {
    if (this.#timer !== undefined || this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#trimRound().finally(() => {
        this.#timer = undefined;
        this.start();
      });
    }, this.#options.interval);
    // Trimming must not keep a program alive.
    Deno.unrefTimer(this.#timer);
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** Gives the lease back, if it is held here. */
  async release(): Promise<void> {
    const { version, sightings } = this.#lease ?? { version: null, sightings: 1 };
    if (version === null || sightings > 0) return;
    const write = { checks: [{ key: LEASE_KEY, version }], deletes: [LEASE_KEY] };
    await this.#options.connection.use((engine) => engine.write(write), undefined, "write").catch(() => {});
  }

  /** Removes what a log does not keep. */
  async trim(log: LogRef): Promise<LogBounds> {
    const { reader, now } = this.#options;
    const [entry, head] = await this.#use((engine) => engine.get([INCARNATION_KEY, headKey(log.name)]));
    if (entry) {
      const keepLease = () => Promise.resolve(true);
      await this.#trimLog({ log, incarnation: toIncarnation(entry), head: toEnd(head), time: now(), keepLease });
    }
    return await reader.bounds(log);
  }

  async #trimRound(): Promise<void> {
    try {
      const [lease, entry] = await this.#use((engine) => engine.get([LEASE_KEY, INCARNATION_KEY]));
      if (!await this.#takeLease(lease)) this.#indexes.clear();
      else if (entry) await this.#trimAll(toIncarnation(entry));
    } catch {
      // The connection has logged it, and the next round tries again.
    }
  }

  /**
   * Takes or renews the lease. It has no time in it, since clocks differ: a lease is free if it has
   * not changed for some rounds. Two holders do no harm, since each removal checks the low
   * watermark.
   */
  async #takeLease(entry: KvEntry | undefined): Promise<boolean> {
    const version = entry?.version ?? null;
    const isOwn = this.#lease?.sightings === 0 && this.#lease.version === version;
    if (!isOwn && entry) {
      const sightings = this.#lease?.version === version ? this.#lease.sightings + 1 : 1;
      this.#lease = { version, sightings };
      if (sightings <= LEASE_ROUNDS) return false;
    }
    const write = { checks: [{ key: LEASE_KEY, version }], sets: [{ key: LEASE_KEY, value: this.#id }] };
    const renewed = await this.#use((engine) => engine.write(write), "write");
    this.#lease = renewed === undefined ? undefined : { version: renewed, sightings: 0 };
    this.#renewedAt = performance.now();
    return renewed !== undefined;
  }

  /**
   * Renews the lease in a long round. Otherwise another process would take it, and measure all logs
   * anew.
   */
  readonly #keepLease = async (): Promise<boolean> => {
    if (performance.now() - this.#renewedAt < this.#options.interval) return true;
    const [lease] = await this.#use((engine) => engine.get([LEASE_KEY]));
    return lease?.version === this.#lease?.version && await this.#takeLease(lease);
  };

  async #trimAll(incarnation: Incarnation): Promise<void> {
    for (let from = POLICIES_START;;) {
      const entries = await this.#use((engine) => engine.list(from, POLICIES_END, LOGS_PER_READ));
      const names = entries.map(({ key }) => key.at(-1)!);
      const heads = await this.#headsOf(names);
      for (const [index, { value }] of entries.entries()) {
        if (this.#closing.signal.aborted || !await this.#keepLease()) return;
        await this.#trimIfDue(names[index]!, value, heads[index]!, incarnation);
      }
      if (entries.length < LOGS_PER_READ) return;
      from = keyAfter(entries.at(-1)!.key);
    }
  }

  async #headsOf(names: readonly string[]): Promise<readonly Cursor[]> {
    const parts: Promise<(KvEntry | undefined)[]>[] = [];
    for (let start = 0; start < names.length; start += KEYS_PER_READ) {
      const keys = names.slice(start, start + KEYS_PER_READ).map(headKey);
      parts.push(this.#use((engine) => engine.get(keys)));
    }
    return (await Promise.all(parts)).flat().map(toEnd);
  }

  async #trimIfDue(name: string, policy: Uint8Array, head: Cursor, incarnation: Incarnation): Promise<void> {
    try {
      const log = { name, policy: decodePolicy(policy) };
      const time = this.#options.now();
      const index = this.#indexes.get(name);
      const isComplete = index !== undefined && index.isFor(incarnation.id, log.policy) && index.end === head;
      if (isComplete && index.endOfExcess(time) === undefined) return;
      await this.#trimLog({ log, incarnation, head, time, keepLease: this.#keepLease });
    } catch {
      // Whoever reads the log is told of the error. The other logs are trimmed nevertheless.
    }
  }

  async #trimLog(trimming: Trimming): Promise<void> {
    const index = await this.#measure(trimming);
    const end = index.endOfExcess(trimming.time);
    if (end !== undefined) await this.#remove(trimming, end);
  }

  /**
   * Reads what is new in a log, up to its head when the trimming began: it may grow faster than it
   * is read. What is in excess of a part of the log is in excess of all of it, too.
   */
  async #measure(
    { log: { name, policy }, incarnation: { id }, head, time, keepLease }: Trimming,
  ): Promise<RetentionIndex> {
    const known = this.#indexes.get(name);
    let index = known?.isFor(id, policy) ? known : new RetentionIndex(id, policy);
    for (;;) {
      const page = await this.#records(name, index.end, {});
      if (page.highWatermark < index.end) {
        // The database was set back.
        index = new RetentionIndex(id, policy);
        continue;
      }
      index.dropUpTo(page.lowWatermark);
      for (const { key, value } of page.records) {
        const end = endOf(key.at(-1)!);
        // Another trimming of the same log may have come further.
        if (end > index.end) index.add(end, measureRecord(value), time);
      }
      if (page.isEnd || index.end >= head || !await keepLease()) break;
    }
    this.#indexes.set(name, index);
    return index;
  }

  /**
   * Removes records up to a cursor. Each write moves the low watermark, which tells readers of the
   * hole.
   */
  async #remove({ log: { name }, incarnation, keepLease }: Trimming, end: Cursor): Promise<void> {
    const keyBytes = recordsPrefix(name).join("").length * 3 + 64;
    const maxRecords = Math.max(1, Math.floor(MAX_KEY_BYTES / keyBytes));
    for (let refusals = 0; refusals < MAX_REFUSALS && await keepLease();) {
      const low = await this.#lowWatermarkOf(name, incarnation);
      if (!low) return;
      const page = await this.#records(name, low.cursor, { maxRecords });
      const keys = page.records.map(({ key }) => key).filter((key) => endOf(key.at(-1)!) <= end);
      if (keys.length === 0 && page.lowWatermark <= low.cursor) return this.#indexes.get(name)?.dropUpTo(end);
      // Without keys, somebody else has removed what was found.
      if (keys.length === 0 || !await this.#removeRecords(name, incarnation, low, keys)) refusals++;
    }
  }

  /** Removes the first records of a log. Returns whether the checks have held. */
  async #removeRecords(
    name: string,
    incarnation: Incarnation,
    { version }: LowWatermark,
    keys: readonly KvKey[],
  ): Promise<boolean> {
    const key = lowWatermarkKey(name);
    const low = new TextEncoder().encode(endOf(keys.at(-1)!.at(-1)!));
    const checks = [checkOf(incarnation), { key, version }];
    const write = { checks, sets: [{ key, value: low }], deletes: keys };
    return await this.#use((engine) => engine.write(write), "write") !== undefined;
  }

  /** The low watermark of a log; undefined if the incarnation has ended. */
  async #lowWatermarkOf(name: string, { id }: Incarnation): Promise<LowWatermark | undefined> {
    const [low, entry] = await this.#use((engine) => engine.get([lowWatermarkKey(name), INCARNATION_KEY]));
    if (!entry || toIncarnation(entry).id !== id) return undefined;
    return { cursor: low ? new TextDecoder().decode(low.value) : LOG_START, version: low?.version ?? null };
  }

  #use<Result>(action: (engine: KvEngine) => Promise<Result>, kind?: Kind): Promise<Result> {
    return this.#options.connection.use(action, this.#closing.signal, kind);
  }

  #records(name: string, after: Cursor, limits: PageLimits): Promise<RecordPage> {
    return this.#options.reader.records(name, after, limits, this.#closing.signal);
  }
}

function toEnd(head: KvEntry | undefined): Cursor {
  return endOf(head?.version ?? "");
}

/** Neighbouring records, which are kept or removed together. */
interface Segment {
  end: Cursor;
  count: number;
  bytes: number;
  /** The newest time of its records. */
  newest: number;
  /** The time of the log at its first record. */
  readonly begin: number;
}

/**
 * A segment of several records is at most so large a part of each bound: that is the precision of
 * trimming.
 */
const PRECISION = 1 / 64;
/**
 * Segments that are kept are about 6 / PRECISION at most: of each two neighbours the sum is beyond
 * one of three bounds. If there are more, the others are in excess, and are joined.
 */
const MAX_SEGMENTS = 512;

/**
 * The sizes and the times of a log's records, so that each is read once to find out what is in
 * excess.
 */
export class RetentionIndex {
  readonly #incarnation: string;
  readonly #policy: LogPolicy;
  #segments: Segment[] = [];
  #end: Cursor = LOG_START;
  /**
   * The time of the log: that of its newest record, which no record sets back and none sets ahead
   * of the clock here.
   */
  #time = -Infinity;

  /** Makes an empty index for an incarnation of the database, and a policy. */
  constructor(incarnation: string, policy: LogPolicy) {
    this.#incarnation = incarnation;
    this.#policy = policy;
  }

  /** How many segments it has. */
  get size(): number {
    return this.#segments.length;
  }

  /** The cursor up to which records were added. */
  get end(): Cursor {
    return this.#end;
  }

  /** Whether it is for an incarnation and a policy. */
  isFor(incarnation: string, { age, count, bytes }: LogPolicy): boolean {
    const policy = this.#policy;
    return this.#incarnation === incarnation && policy.age === age && policy.count === count && policy.bytes === bytes;
  }

  /**
   * Adds the next record of the log.
   *
   * @param end Its cursor.
   * @param size Its size and time.
   * @param now The time in milliseconds since 1970.
   */
  add(end: Cursor, { count, bytes, time }: RecordSize, now: number): void {
    this.#time = Math.max(this.#time, Math.min(time, now));
    this.#end = end;
    const last = this.#segments.at(-1);
    if (last && this.#fits(last, count, bytes)) join(last, { end, count, bytes, newest: time });
    else this.#segments.push({ end, count, bytes, newest: time, begin: this.#time });
    if (this.#segments.length > MAX_SEGMENTS) this.#joinExcess(now);
  }

  /** Forgets what was removed up to a cursor. */
  dropUpTo(low: Cursor): void {
    const kept = this.#segments.findIndex(({ end }) => end > low);
    this.#segments.splice(0, kept === -1 ? this.#segments.length : kept);
    if (low > this.#end) this.#end = low;
  }

  /**
   * The cursor up to which the log is to be removed, if at all. It keeps rather more messages than
   * too few, and rather fewer bytes than too many; the newest segment goes by its age only.
   */
  endOfExcess(now: number): Cursor | undefined {
    const { age, count, bytes } = this.#policy;
    let [restCount, restBytes] = [0, 0];
    for (const segment of this.#segments) {
      restCount += segment.count;
      restBytes += segment.bytes;
    }
    let excess: Cursor | undefined;
    for (const [index, segment] of this.#segments.entries()) {
      const isNewest = index === this.#segments.length - 1;
      const isTooMuch = !isNewest && (restCount - segment.count >= count || restBytes > bytes);
      if (!isTooMuch && this.#timeOf(index, now) >= now - age) break;
      excess = segment.end;
      restCount -= segment.count;
      restBytes -= segment.bytes;
    }
    return excess;
  }

  #fits(last: Segment, count: number, bytes: number): boolean {
    const policy = this.#policy;
    return last.count + count <= policy.count * PRECISION && last.bytes + bytes <= policy.bytes * PRECISION &&
      this.#time - last.begin <= policy.age * PRECISION;
  }

  /**
   * The time of a segment. If its clock was ahead of the one here, it is as old as what was written
   * after it.
   */
  #timeOf(index: number, now: number): number {
    for (let next = index; next < this.#segments.length; next++) {
      const { newest } = this.#segments[next]!;
      if (newest <= now) return newest;
    }
    return now;
  }

  #joinExcess(now: number): void {
    const excess = this.endOfExcess(now) ?? LOG_START;
    const kept = this.#segments.findIndex(({ end }) => end > excess);
    const [first, ...rest] = this.#segments.splice(0, kept === -1 ? this.#segments.length : kept);
    if (!first) return;
    for (const segment of rest) join(first, segment);
    this.#segments.unshift(first);
  }
}

function join(segment: Segment, { end, count, bytes, newest }: Omit<Segment, "begin">): void {
  segment.end = end;
  segment.count += count;
  segment.bytes += bytes;
  segment.newest = Math.max(segment.newest, newest);
}
