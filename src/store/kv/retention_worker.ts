/** Applies the retention of all logs. One process does it for all: the one that has the lease. */
import { detached } from "../../log/log.ts";
import { type Cursor, LOG_START, type LogBounds, type LogPolicy, type LogRef } from "../topic_store.ts";
import { Lease } from "../lease.ts";
import { inParts, KEYS_PER_READ, type KvCheck, type KvEntry, type KvKey, type KvSet } from "./engine.ts";
import { checkOf, type Incarnation, type Incarnations } from "./incarnation.ts";
import { type BatchSize, endOf, headKey, LEASE_KEY, lowWatermarkKey, measureBatch } from "./keys.ts";
import { type BatchPage, type KvLogReader, toLog } from "./log_reader.ts";

/**
 * The lease in rounds: a process that finds it unchanged in the fourth round acquires it. Half a
 * round less than three, because rounds take time, too.
 */
const LEASE_ROUNDS = 2.5;
/** After so many refusals by another process that removes, the next round continues. */
const MAX_REFUSALS = 10;
/** The most bytes of keys of one write, of which Deno KV allows 80 KiB. */
const MAX_KEY_BYTES = 64 * 1024;
/** An upper bound of the key of a batch without the name. */
const KEY_OVERHEAD = 64;

const NO_LIMITS = { maxMessages: Infinity, maxBytes: Infinity };

type RenewLease = () => Promise<boolean>;

export class RetentionWorker {
  readonly #incarnations: Incarnations;
  readonly #reader: KvLogReader;
  readonly #interval: number;
  readonly #now: () => number;
  readonly #id = new TextEncoder().encode(crypto.randomUUID());
  readonly #closing = new AbortController();
  readonly #indexes = new Map<string, RetentionIndex>();
  #isRunning = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round: Promise<void> = Promise.resolve();
  readonly #lease: Lease<Uint8Array<ArrayBuffer>>;

  constructor(
    incarnations: Incarnations,
    reader: KvLogReader,
    interval: number,
    now: () => number,
  ) {
    this.#incarnations = incarnations;
    this.#reader = reader;
    this.#interval = interval;
    this.#now = now;
    const write = async (value: Uint8Array<ArrayBuffer>, version: string | null) =>
      await this.#write([{ key: LEASE_KEY, version }], [{ key: LEASE_KEY, value }]) ?? null;
    this.#lease = new Lease({ write, delete: (version) => this.#deleteLease(version) }, interval * LEASE_ROUNDS);
  }

  start(): void {
    if (this.#isRunning || this.#closing.signal.aborted) return;
    this.#isRunning = true;
    void detached(() => this.#schedule());
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      // The connection has logged an error, and the next round tries again.
      this.#round = this.#trimAll().catch(() => {}).finally(() => this.#schedule());
    }, this.#interval);
    // Trimming must not keep the process alive.
    Deno.unrefTimer(this.#timer);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#round;
  }

  async release(): Promise<void> {
    await this.#lease.release().catch(() => {});
  }

  async #deleteLease(version: string): Promise<boolean> {
    const write = { checks: [{ key: LEASE_KEY, version }], deletes: [LEASE_KEY] };
    return await this.#incarnations.connection.use((engine) => engine.write(write), undefined, "write") !== undefined;
  }

  async trim(log: LogRef): Promise<LogBounds> {
    const { incarnation, entries: [head] } = await this.#incarnations.get([headKey(log.name)], this.#closing.signal);
    await this.#trimLog(log, incarnation, toEnd(head), () => Promise.resolve(true));
    return await this.#reader.bounds(log);
  }

  async #trimAll(): Promise<void> {
    const { signal } = this.#closing;
    const { incarnation, entries: [lease] } = await this.#incarnations.get([LEASE_KEY], signal);
    if (!await this.#acquireLease(lease)) return this.#indexes.clear();
    for await (const policies of this.#reader.policies(signal)) {
      const heads = await this.#headsOf(policies.map(({ key }) => key.at(-1)!));
      for (const [index, policy] of policies.entries()) {
        if (signal.aborted || !await this.#renewLease()) return;
        try {
          await this.#trimLog(toLog(policy), incarnation, heads[index]!, this.#renewLease);
        } catch {
          // A reader of the log gets the error. The other logs are trimmed nevertheless.
        }
      }
    }
  }

  /**
   * Acquires or renews the lease. It has no time in it, because clocks differ: it is free if it has
   * not changed for some rounds. Two holders do no harm: each removal checks the low watermark.
   */
  async #acquireLease(entry: KvEntry | undefined): Promise<boolean> {
    const version = entry?.version ?? null;
    const isOther = entry !== undefined && entry.version !== this.#lease.version;
    if (isOther && !this.#lease.hasExpired(entry.version)) return false;
    return await this.#lease.write(this.#id, version);
  }

  /** Without it, another process would acquire the lease in a long round, and measure all logs. */
  readonly #renewLease: RenewLease = async () => {
    if (!this.#lease.isRenewalDue) return true;
    const [lease] = await this.#incarnations.connection.use((engine) => engine.get([LEASE_KEY]), this.#closing.signal);
    return (lease?.version ?? null) === this.#lease.version && await this.#acquireLease(lease);
  };

  async #headsOf(names: readonly string[]): Promise<readonly Cursor[]> {
    const { connection } = this.#incarnations;
    const parts = inParts(names.map(headKey), KEYS_PER_READ).map((keys) => {
      return connection.use((engine) => engine.get(keys), this.#closing.signal);
    });
    return (await Promise.all(parts)).flat().map(toEnd);
  }

  /**
   * Reads what is new in a log, and removes the excess after each page. It ends at the head of the
   * log when the trimming began, since the log may grow faster than it is read.
   */
  async #trimLog(log: LogRef, incarnation: Incarnation, head: Cursor, renewLease: RenewLease): Promise<void> {
    const { name, policy } = log;
    const id = incarnation.id + JSON.stringify(policy);
    const time = this.#now();
    let index = this.#indexes.get(name);
    if (index?.id === id && index.end === head && index.endOfExcess(time) === undefined) return;
    for (;;) {
      if (index?.id !== id) this.#indexes.set(name, index = new RetentionIndex(id, policy));
      const page = await this.#batches(name, index.end);
      if (page.highWatermark < index.end) {
        // A backup was restored.
        index = undefined;
        continue;
      }
      index.dropUpTo(page.lowWatermark);
      for (const { key, value } of page.batches) {
        const end = cursorOf(key);
        // Another trimming of the same log may have advanced further.
        if (end > index.end) index.add(end, measureBatch(value));
      }
      const excess = index.endOfExcess(time);
      if (excess !== undefined && await this.#remove(name, incarnation, excess, renewLease)) index.dropUpTo(excess);
      if (page.isEnd || index.end >= head || !await renewLease()) return;
    }
  }

  /** Each write moves the low watermark, so that readers see the gap. False if some are left. */
  async #remove(name: string, incarnation: Incarnation, end: Cursor, renewLease: RenewLease): Promise<boolean> {
    const lowKey = lowWatermarkKey(name);
    const most = Math.floor(MAX_KEY_BYTES / (3 * name.length + KEY_OVERHEAD));
    for (let refusals = 0; refusals < MAX_REFUSALS && await renewLease();) {
      const snapshot = await this.#incarnations.get([lowKey], this.#closing.signal);
      if (snapshot.incarnation !== incarnation) return false;
      const [low] = snapshot.entries;
      const after = low ? new TextDecoder().decode(low.value) : LOG_START;
      const page = await this.#batches(name, after);
      const keys = page.batches.map(({ key }) => key).filter((key) => cursorOf(key) <= end).slice(0, most);
      const last = keys.at(-1);
      if (!last) {
        if (page.lowWatermark <= after) return true;
        // Another process has removed what was found.
        refusals++;
        continue;
      }
      const checks = [checkOf(incarnation), { key: lowKey, version: low?.version ?? null }];
      const sets = [{ key: lowKey, value: new TextEncoder().encode(cursorOf(last)) }];
      if (await this.#write(checks, sets, keys) === undefined) refusals++;
      else if (cursorOf(last) >= end) return true;
    }
    return false;
  }

  #batches(name: string, after: Cursor): Promise<BatchPage> {
    return this.#reader.batches(name, after, NO_LIMITS, this.#closing.signal);
  }

  #write(checks: readonly KvCheck[], sets: readonly KvSet[], deletes: readonly KvKey[] = []) {
    return this.#incarnations.connection.use(
      (engine) => engine.write({ checks, sets, deletes }),
      this.#closing.signal,
      "write",
    );
  }
}

function toEnd(head: KvEntry | undefined): Cursor {
  return endOf(head?.version ?? "");
}

function cursorOf(key: KvKey): Cursor {
  return endOf(key.at(-1)!);
}

/** Neighbouring batches, which stay or are removed together. */
interface Segment {
  end: Cursor;
  count: number;
  bytes: number;
  readonly begin: number;
  newest: number;
}

/** The largest part of each bound that a segment of several batches has. */
const PRECISION = 1 / 64;

/** The sizes and the times of a log's batches, so that each is read once to find the excess. */
export class RetentionIndex {
  /** It has the incarnation and the policy. */
  readonly id: string;
  readonly #policy: LogPolicy;
  #segments: Segment[] = [];
  #end: Cursor = LOG_START;

  constructor(id: string, policy: LogPolicy) {
    this.id = id;
    this.#policy = policy;
  }

  get size(): number {
    return this.#segments.length;
  }

  get end(): Cursor {
    return this.#end;
  }

  add(end: Cursor, { count, bytes, time }: BatchSize): void {
    this.#end = end;
    const last = this.#segments.at(-1);
    if (last && this.#fits(last, count, bytes, time)) {
      last.end = end;
      last.count += count;
      last.bytes += bytes;
      last.newest = Math.max(last.newest, time);
    } else this.#segments.push({ end, count, bytes, begin: time, newest: time });
  }

  dropUpTo(low: Cursor): void {
    this.#segments = this.#segments.filter(({ end }) => end > low);
    if (low > this.#end) this.#end = low;
  }

  /**
   * The cursor up to which the log must be removed, if at all. Segments leave too many messages
   * rather than too few, and too few bytes rather than too many. The newest one goes by its age
   * only.
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

  #fits(last: Segment, count: number, bytes: number, time: number): boolean {
    const policy = this.#policy;
    return last.count + count <= policy.count * PRECISION && last.bytes + bytes <= policy.bytes * PRECISION &&
      Math.abs(time - last.begin) <= policy.age * PRECISION;
  }

  /** If the clock of its writer was ahead, it is as old as what was written after it. */
  #timeOf(index: number, now: number): number {
    return this.#segments.slice(index).find(({ newest }) => newest <= now)?.newest ?? now;
  }
}
