/** Removes what logs do not keep: one node for all, whichever holds the lease. */
import { type Cursor, LOG_START, type LogBounds, type LogRef } from "../store.ts";
import type { Connection } from "./connection.ts";
import { KEYS_PER_READ, type KvEngine, type KvEntry } from "./engine.ts";
import { checkOf, type Life, toLife } from "./epoch.ts";
import { decodePolicy } from "./policy.ts";
import { endOf, EPOCH_KEY, framesPrefix, headKey, lowKey, POLICIES_END, POLICIES_START, TRIMMER_KEY } from "./keys.ts";
import { measureFrame } from "./frame.ts";
import type { FramePage, KvLogReader } from "./log_reader.ts";
import { TrimPlan } from "./trim_plan.ts";

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
    await this.#options.connection.use((engine) => engine.write(write)).catch(() => {});
  }

  /** Removes what a log does not keep. */
  async trim(log: LogRef): Promise<LogBounds> {
    const { reader } = this.#options;
    const [life] = await this.#use((engine) => engine.get([EPOCH_KEY]));
    if (life) await this.#trimLog(log, toLife(life), this.#options.now(), () => Promise.resolve(true));
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
    const renewed = await this.#use((engine) => engine.write(write));
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
      for (const [index, name] of names.entries()) {
        if (this.#closing.signal.aborted || !await this.#keepLease()) return;
        await this.#trimIfDue({ name, policy: decodePolicy(entries[index]!.value) }, heads[index]!, life, now());
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
    return (await Promise.all(parts)).flat().map((head) => endOf(head?.version ?? ""));
  }

  async #trimIfDue(log: LogRef, head: Cursor, life: Life, time: number): Promise<void> {
    const known = this.#plans.get(log.name);
    const isKnown = known?.life === life.text && known.end === head;
    if (isKnown && known.endOfExcess(log.policy, time) === undefined) return;
    try {
      await this.#trimLog(log, life, time, () => this.#keepLease());
    } catch (error) {
      // Whoever reads the log is told of it. The others are to be trimmed all the same.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  async #trimLog(log: LogRef, life: Life, time: number, mayGoOn: () => Promise<boolean>): Promise<void> {
    const plan = await this.#measure(log, life, time, mayGoOn);
    const end = plan.endOfExcess(log.policy, time);
    if (end !== undefined) await this.#remove(log.name, life, end);
  }

  /** Reads what has come since the last time in a life. Of what is read in part, no more is too much than of all. */
  async #measure(
    { name, policy }: LogRef,
    life: Life,
    time: number,
    mayGoOn: () => Promise<boolean>,
  ): Promise<TrimPlan> {
    const known = this.#plans.get(name);
    let plan = known?.life === life.text ? known : new TrimPlan(life.text);
    for (;;) {
      const { frames, low, head, isEnd } = await this.#frames(name, plan.end);
      if (head < plan.end) {
        // The database was set back.
        plan = new TrimPlan(life.text);
        continue;
      }
      plan.dropUpTo(low);
      for (const { key, value } of frames) {
        const end = endOf(key.at(-1)!);
        // Another round of the same log may have come further meanwhile.
        if (end > plan.end) plan.add(end, measureFrame(value), policy, time);
      }
      if (isEnd || !await mayGoOn()) break;
    }
    this.#plans.set(name, plan);
    return plan;
  }

  /**
   * Removes what comes up to a place, in the life in which that was found out. The low place moves with each write, so that no reader
   * finds a hole that it is not told of.
   */
  async #remove(name: string, life: Life, end: Cursor): Promise<void> {
    const keyBytes = framesPrefix(name).join("").length * 3 + 64;
    const perWrite = Math.max(1, Math.min(250, Math.floor(MAX_KEY_BYTES / keyBytes)));
    for (let refusals = 0; refusals < MAX_REFUSALS;) {
      const [lowEntry, lifeEntry] = await this.#use((engine) => engine.get([lowKey(name), EPOCH_KEY]));
      if (!lifeEntry || toLife(lifeEntry).text !== life.text) return;
      const low = lowEntry ? new TextDecoder().decode(lowEntry.value) : "";
      if (low >= end) return this.#plans.get(name)?.dropUpTo(end);
      const { frames, low: lowAfterwards } = await this.#frames(name, low || LOG_START, perWrite);
      const doomed = frames.filter(({ key }) => endOf(key.at(-1)!) <= end).slice(0, perWrite).map(({ key }) => key);
      // Somebody else has removed what was found.
      if (doomed.length === 0 && lowAfterwards > low) continue;
      if (doomed.length === 0) return this.#plans.get(name)?.dropUpTo(end);
      const value = new TextEncoder().encode(endOf(doomed.at(-1)!.at(-1)!));
      const write = {
        checks: [checkOf(life), { key: lowKey(name), version: lowEntry?.version ?? null }],
        sets: [{ key: lowKey(name), value }],
        deletes: doomed,
      };
      if (await this.#use((engine) => engine.write(write)) === undefined) refusals++;
    }
  }

  /** Asks until it is closed. */
  #use<Result>(action: (engine: KvEngine) => Promise<Result>): Promise<Result> {
    return this.#options.connection.use(action, this.#closing.signal);
  }

  #frames(name: string, after: Cursor, count?: number): Promise<FramePage> {
    return this.#options.reader.frames(name, after, count, this.#closing.signal);
  }
}
