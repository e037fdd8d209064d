/** Removes what logs do not keep: one node for all, whichever holds the lease. */
import { type Cursor, LOG_START, type LogBounds, type LogPolicy, type LogRef } from "../store.ts";
import type { Connection, Kind } from "./connection.ts";
import { KEYS_PER_READ, type KvEngine, type KvEntry, type KvKey } from "./engine.ts";
import { checkOf, type Life, toLife } from "./incarnation.ts";
import {
  decodePolicy,
  endOf,
  EPOCH_KEY,
  type FrameSize,
  framesPrefix,
  headKey,
  lowKey,
  measureFrame,
  POLICIES_END,
  POLICIES_START,
  TRIMMER_KEY,
} from "./keys.ts";
import type { FramePage, KvLogReader } from "./log_reader.ts";
import type { PageLimits } from "./page_sizes.ts";

/** Frames that are kept or removed together. */
interface Segment {
  end: Cursor;
  count: number;
  bytes: number;
  newest: number;
  /** How far the time of the log had come before, and after it. Clocks differ; so it goes one way only. */
  readonly from: number;
  until: number;
}

/** So many segments are left as they are: a small log is trimmed to the frame. */
const MIN_SEGMENTS = 64;
/**
 * A log is trimmed with a precision of one in so many: that of what is to be kept a segment is at most, unless it is one frame. Of two
 * neighbours that are not joined then, one bound of three is passed; so there are not more segments than six times as many, and the rest.
 */
const PARTS = 64;

/** The sizes and times of a log's frames, in order. */
export class TrimPlan {
  #segments: Segment[] = [];
  /** Beyond so many they are joined. */
  #limit = MIN_SEGMENTS;
  #end: Cursor = LOG_START;
  /** How far the time of the log has come. */
  #time: number | undefined;

  /**
   * Knows of no frame.
   *
   * @param life The life of the database.
   * @param policy What the log keeps: where that changes, what was joined may be too large.
   */
  constructor(readonly life: string, readonly policy: LogPolicy) {}

  /** Of how many parts something is known. */
  get size(): number {
    return this.#segments.length;
  }

  /** The place up to which frames have been added. */
  get end(): Cursor {
    return this.#end;
  }

  /** Whether it is of a life, and of what a log keeps. */
  isOf(life: string, { age, count, bytes }: LogPolicy): boolean {
    const { policy } = this;
    return this.life === life && policy.age === age && policy.count === count && policy.bytes === bytes;
  }

  /**
   * Adds the next frame of a log.
   *
   * @param end Its place.
   * @param size What it has.
   * @param now The time in milliseconds since 1970.
   */
  add(end: Cursor, { count, bytes, time }: FrameSize, now: number): void {
    // A clock may be far ahead.
    const come = Math.min(time, now);
    const from = this.#time ?? come;
    const until = this.#time = Math.max(from, come);
    this.#segments.push({ end, count, bytes, newest: time, from, until });
    this.#end = end;
    if (this.#segments.length <= this.#limit) return;
    this.#merge(now);
    this.#limit = Math.max(MIN_SEGMENTS, 2 * this.#segments.length);
  }

  /** Forgets what has been removed up to a place. */
  dropUpTo(low: Cursor): void {
    const kept = this.#segments.findIndex(({ end }) => end > low);
    this.#segments.splice(0, kept === -1 ? this.#segments.length : kept);
    if (low > this.#end) this.#end = low;
  }

  /**
   * The place up to which a log is to be removed, if at all. The newest frame is kept but for its age. Of the last messages that are
   * to be kept none is removed, though others in the same segment would be; of bytes, rather too few are kept than too many.
   */
  endOfExcess(time: number): Cursor | undefined {
    const { age, count, bytes } = this.policy;
    let [restCount, restBytes] = [0, 0];
    for (const segment of this.#segments) {
      restCount += segment.count;
      restBytes += segment.bytes;
    }
    let excess: Cursor | undefined;
    for (const [index, segment] of this.#segments.entries()) {
      const isNewest = index === this.#segments.length - 1;
      const isTooMuch = !isNewest && (restCount - segment.count >= count || restBytes > bytes);
      if (!isTooMuch && this.#timeOf(index, time) >= time - age) break;
      excess = segment.end;
      restCount -= segment.count;
      restBytes -= segment.bytes;
    }
    return excess;
  }

  /**
   * The time of the newest message of a segment. Where that is to come, the clock of who wrote it was ahead, or the one here is behind:
   * it is as old as what was written after it.
   */
  #timeOf(index: number, now: number): number {
    for (const { newest } of this.#segments.slice(index)) if (newest <= now) return newest;
    return now;
  }

  /** Joins neighbours that are small beside what is to be kept, and all that is not. */
  #merge(now: number): void {
    const { age, count, bytes } = this.policy;
    const excess = this.endOfExcess(now) ?? LOG_START;
    const merged: Segment[] = [];
    for (const segment of this.#segments) {
      const last = merged.at(-1);
      const isSmall = last !== undefined && (last.count + segment.count) * PARTS <= count &&
        (last.bytes + segment.bytes) * PARTS <= bytes && (segment.until - last.from) * PARTS <= age;
      if (last && (isSmall || segment.end <= excess)) {
        last.end = segment.end;
        last.count += segment.count;
        last.bytes += segment.bytes;
        last.newest = Math.max(last.newest, segment.newest);
        last.until = segment.until;
      } else merged.push(segment);
    }
    this.#segments = merged;
  }
}

/** For how many rounds a lease is left alone that its holder does not renew. */
const LEASE_ROUNDS = 3;
/** How many logs are looked at with one reading. */
const LOGS_PER_READ = 100;
/**
 * How often in all a removal may be refused, because somebody else removes, too, or because the entry of the life is not there. The next
 * round goes on with it.
 */
const MAX_REFUSALS = 10;
/** The most bytes of keys of one write, of which a database takes 80 KiB. */
const MAX_KEY_BYTES = 64 * 1024;
/** The most frames that one write removes. */
const MAX_REMOVED = 450;

/** What trimming needs. */
export interface TrimmerOptions {
  /** The database. */
  readonly connection: Connection;
  /** Reads logs. */
  readonly reader: KvLogReader;
  /** How often logs are trimmed, in milliseconds. */
  readonly interval: number;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/** A log that is trimmed. */
interface Trimming {
  readonly log: LogRef;
  readonly life: Life;
  /** The place of its newest message as this began. */
  readonly head: Cursor;
  /** The time then, in milliseconds since 1970. */
  readonly time: number;
  /** Whether it may take longer still. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Where a log begins, and the version of the entry that says so. */
interface LowPlace {
  readonly place: Cursor;
  readonly version: string | null;
}

/** Trims logs. */
export class Trimmer {
  readonly #options: TrimmerOptions;
  readonly #node = new TextEncoder().encode(crypto.randomUUID());
  readonly #closing = new AbortController();
  /** What is known of the logs, by name. */
  readonly #plans = new Map<string, TrimPlan>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round: Promise<void> = Promise.resolve();
  /** The lease as it was seen last, and how often it was seen so. */
  #lease: { readonly version: string | null; readonly sightings: number } | undefined;
  /** When it was taken or kept last, in milliseconds of `performance.now()`. */
  #heldAt = 0;

  /** Does nothing yet. */
  constructor(options: TrimmerOptions) {
    this.#options = options;
  }

  /** Begins to trim all logs of the database from time to time. */
  start(): void {
    if (this.#timer !== undefined || this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#work().finally(() => {
        this.#timer = undefined;
        this.start();
      });
    }, this.#options.interval);
    // It makes room; it must not keep a program alive.
    Deno.unrefTimer(this.#timer);
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** Gives the lease back, if it is held. */
  async release(): Promise<void> {
    const { version, sightings } = this.#lease ?? { version: null, sightings: 1 };
    if (version === null || sightings > 0) return;
    const write = { checks: [{ key: TRIMMER_KEY, version }], deletes: [TRIMMER_KEY] };
    await this.#options.connection.use((engine) => engine.write(write), undefined, "write").catch(() => {});
  }

  /** Removes what a log does not keep. */
  async trim(log: LogRef): Promise<LogBounds> {
    const { reader, now } = this.#options;
    const [life, head] = await this.#use((engine) => engine.get([EPOCH_KEY, headKey(log.name)]));
    if (life) await this.#trimLog({ log, life: toLife(life), head: toEnd(head), time: now(), mayGoOn: always });
    return await reader.bounds(log);
  }

  async #work(): Promise<void> {
    try {
      const [lease, life] = await this.#use((engine) => engine.get([TRIMMER_KEY, EPOCH_KEY]));
      if (!await this.#holdLease(lease)) this.#plans.clear();
      else if (life) await this.#trimAll(toLife(life));
    } catch {
      // The connection has told of it; the next round tries again.
    }
  }

  /**
   * Takes or keeps the lease. Nobody's clock is asked for the time of another: a lease is left when it has not changed for some rounds.
   * Two who hold it do no harm, since each removal checks where the log began.
   */
  async #holdLease(entry: KvEntry | undefined): Promise<boolean> {
    const version = entry?.version ?? null;
    const isOwn = this.#lease?.sightings === 0 && this.#lease.version === version;
    if (!isOwn && entry) {
      const sightings = this.#lease?.version === version ? this.#lease.sightings + 1 : 1;
      this.#lease = { version, sightings };
      if (sightings <= LEASE_ROUNDS) return false;
    }
    const write = { checks: [{ key: TRIMMER_KEY, version }], sets: [{ key: TRIMMER_KEY, value: this.#node }] };
    const renewed = await this.#use((engine) => engine.write(write), "write");
    this.#lease = renewed === undefined ? undefined : { version: renewed, sightings: 0 };
    this.#heldAt = performance.now();
    return renewed !== undefined;
  }

  /** Keeps the lease in a round that takes long: another node would begin to measure all logs, and so this one after it. */
  async #keepLease(): Promise<boolean> {
    if (performance.now() - this.#heldAt < this.#options.interval) return true;
    const [lease] = await this.#use((engine) => engine.get([TRIMMER_KEY]));
    return lease?.version === this.#lease?.version && await this.#holdLease(lease);
  }

  async #trimAll(life: Life): Promise<void> {
    const { now } = this.#options;
    for (let from = POLICIES_START;;) {
      const entries = await this.#use((engine) => engine.list(from, POLICIES_END, LOGS_PER_READ));
      const names = entries.map(({ key }) => key.at(-1)!);
      const heads = await this.#headsOf(names);
      for (const [index, { key, value }] of entries.entries()) {
        if (this.#closing.signal.aborted || !await this.#keepLease()) return;
        await this.#trimIfDue(key.at(-1)!, value, heads[index]!, life, now());
      }
      if (entries.length < LOGS_PER_READ) return;
      const last = entries.at(-1)!.key;
      from = [...last.slice(0, -1), `${last.at(-1)}\0`];
    }
  }

  /** The places of the newest messages of logs, in the order of their names. */
  async #headsOf(names: readonly string[]): Promise<readonly Cursor[]> {
    const parts: Promise<(KvEntry | undefined)[]>[] = [];
    for (let start = 0; start < names.length; start += KEYS_PER_READ) {
      const keys = names.slice(start, start + KEYS_PER_READ).map(headKey);
      parts.push(this.#use((engine) => engine.get(keys)));
    }
    return (await Promise.all(parts)).flat().map(toEnd);
  }

  async #trimIfDue(name: string, policy: Uint8Array, head: Cursor, life: Life, time: number): Promise<void> {
    try {
      const log = { name, policy: decodePolicy(policy) };
      const known = this.#plans.get(name);
      const isKnown = known !== undefined && known.isOf(life.text, log.policy) && known.end === head;
      if (isKnown && known.endOfExcess(time) === undefined) return;
      await this.#trimLog({ log, life, head, time, mayGoOn: () => this.#keepLease() });
    } catch {
      // Whoever reads the log is told of it, and of a database that is away. The others are to be trimmed all the same.
    }
  }

  async #trimLog(trimming: Trimming): Promise<void> {
    const plan = await this.#measure(trimming);
    const end = plan.endOfExcess(trimming.time);
    if (end !== undefined) await this.#remove(trimming, end);
  }

  /**
   * Reads what has come since the last time in a life, up to what was the end of the log as this began: it may grow faster than it is
   * read. Of what is read in part, no more is too much than of all.
   */
  async #measure({ log: { name, policy }, life, head, time, mayGoOn }: Trimming): Promise<TrimPlan> {
    const known = this.#plans.get(name);
    let plan = known?.isOf(life.text, policy) ? known : new TrimPlan(life.text, policy);
    for (;;) {
      const page = await this.#frames(name, plan.end, {});
      if (page.highWatermark < plan.end) {
        // The database was set back.
        plan = new TrimPlan(life.text, policy);
        continue;
      }
      plan.dropUpTo(page.lowWatermark);
      for (const { key, value } of page.frames) {
        const end = endOf(key.at(-1)!);
        // Another round of the same log may have come further meanwhile.
        if (end > plan.end) plan.add(end, measureFrame(value), time);
      }
      if (page.isEnd || plan.end >= head || !await mayGoOn()) break;
    }
    this.#plans.set(name, plan);
    return plan;
  }

  /**
   * Removes what comes up to a place, in the life in which that was found out. The low place moves with each write, so that no reader
   * finds a hole that it is not told of.
   */
  async #remove({ log: { name }, life, mayGoOn }: Trimming, end: Cursor): Promise<void> {
    const keyBytes = framesPrefix(name).join("").length * 3 + 64;
    const perWrite = Math.max(1, Math.min(MAX_REMOVED, Math.floor(MAX_KEY_BYTES / keyBytes)));
    let low = await this.#lowOf(name, life);
    for (let refusals = 0; low && refusals < MAX_REFUSALS && await mayGoOn();) {
      const page = await this.#frames(name, low.place, { maxFrames: perWrite });
      const ends = page.frames.map(({ key }) => endOf(key.at(-1)!)).filter((place) => place <= end);
      if (ends.length === 0 && page.lowWatermark <= low.place) return this.#plans.get(name)?.dropUpTo(end);
      // Where there are none, somebody else has removed what was found.
      const doomed = page.frames.slice(0, Math.min(ends.length, perWrite)).map(({ key }) => key);
      const next: LowPlace | undefined = doomed.length > 0
        ? await this.#removeFrames(name, life, low, doomed)
        : undefined;
      if (!next) refusals++;
      low = next ?? await this.#lowOf(name, life);
    }
  }

  /** Removes the first frames of a log. Gives where it begins then; undefined where a check does not hold. */
  async #removeFrames(
    name: string,
    life: Life,
    { version }: LowPlace,
    doomed: readonly KvKey[],
  ): Promise<LowPlace | undefined> {
    const place = endOf(doomed.at(-1)!.at(-1)!);
    const write = {
      checks: [checkOf(life), { key: lowKey(name), version }],
      sets: [{ key: lowKey(name), value: new TextEncoder().encode(place) }],
      deletes: doomed,
    };
    const removed = await this.#use((engine) => engine.write(write), "write");
    return removed === undefined ? undefined : { place, version: removed };
  }

  /** Where a log begins, and when that was written; undefined where the life has ended. */
  async #lowOf(name: string, life: Life): Promise<LowPlace | undefined> {
    const [low, entry] = await this.#use((engine) => engine.get([lowKey(name), EPOCH_KEY]));
    if (!entry || toLife(entry).text !== life.text) return undefined;
    return { place: low ? new TextDecoder().decode(low.value) : LOG_START, version: low?.version ?? null };
  }

  /** Asks until it is closed. */
  #use<Result>(action: (engine: KvEngine) => Promise<Result>, kind?: Kind): Promise<Result> {
    return this.#options.connection.use(action, this.#closing.signal, kind);
  }

  #frames(name: string, after: Cursor, limits: PageLimits): Promise<FramePage> {
    return this.#options.reader.frames(name, after, limits, this.#closing.signal);
  }
}

function always(): Promise<boolean> {
  return Promise.resolve(true);
}

function toEnd(head: KvEntry | undefined): Cursor {
  return endOf(head?.version ?? "");
}
