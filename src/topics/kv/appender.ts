/** Appends batches to logs, whatever becomes of the replies. */
import type { AppendOptions, AppendResult, LogRef, NewMessage } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { KvCheck, KvEngine, KvKey, KvSet, KvWrite } from "./engine.ts";
import { checkOf, type Epoch, epochOf, type Life, noteVersion } from "./incarnation.ts";
import {
  bellKey,
  encodeFrame,
  encodePolicy,
  framesPrefix,
  headKey,
  idKey,
  idsKey,
  policyKey,
  seriesKey,
} from "./keys.ts";
import {
  Batch,
  encodeBatch,
  encodeId,
  findBatch,
  findIds,
  findRecalled,
  type IdsState,
  type Pending,
  recalledOf,
} from "./batch.ts";

/**
 * How long series and ids are remembered at least, in milliseconds: longer than an append is tried again, and than whoever is
 * told of an unknown outcome takes to publish again.
 */
const MIN_MEMORY = 120_000;

/** How many ids a write checks one by one. It has at most 10 checks: the life of the database, the series, and these. */
const MAX_CHECKED_IDS = 8;
/** How many ids it checks one by one beside the newest write with ids. */
const CHECKED_BESIDE_GUARD = MAX_CHECKED_IDS - 1;
/** How many ids a write has that checks instead that there was no other write with ids: as many as a batch has. */
const MAX_GUARDED_IDS = 256;
/**
 * How many writes of a batch are refused before its ids are checked one by one, which no other write can hinder: a node far from the
 * database would else wait for as long as nearer ones are busy.
 */
const MAX_REFUSALS = 3;

/** For how long writes need not make sure that the life of the database is the present one, in milliseconds. */
const MAX_UNCONFIRMED = 1_000;

const NOTHING: Uint8Array = new Uint8Array();

/** A batch on its way. */
interface Writing {
  readonly batch: Batch;
  readonly life: Life;
  readonly known: KnownLog;
  /** Whether it may have been stored in a life before. */
  readonly isAgain: boolean;
  /** Gives up. */
  readonly signal: AbortSignal | undefined;
}

/** A write that is to be made. */
interface Draft {
  readonly write: KvWrite;
  /** When it was drafted, if it holds in the life alone, in milliseconds of `performance.now()`. */
  readonly confirmedAt: number | undefined;
  /** Whether some of its messages are known by ids. */
  readonly hasIds: boolean;
  /** Whether some of its messages are known by the batch. */
  readonly hasUnnamed: boolean;
}

/** What appending needs. */
export interface AppenderOptions {
  /** The database. */
  readonly connection: Connection;
  /** Its life. */
  readonly epoch: Epoch;
  /** The bell of a log. */
  readonly bellOf: (name: string) => number;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/** Appends to logs. */
export class Appender {
  readonly #options: AppenderOptions;
  readonly #known: Known;

  /** Writes nothing yet. */
  constructor(options: AppenderOptions) {
    this.#options = options;
    this.#known = new Known(options.bellOf);
  }

  /**
   * Appends a batch.
   *
   * A write whose reply is lost is made again. It checks that what is remembered of the series is as it was before the batch, and that
   * none of the ids is there, so that of all the attempts, of which one may be carried out long after it was given up, the first alone
   * has an effect.
   *
   * A few ids are checked one by one. Of many it is read that they are not there, and the write checks that since then there has been
   * no other write with ids: all of them write one entry, whose version tells.
   */
  async append(log: LogRef, messages: readonly NewMessage[], options: AppendOptions): Promise<AppendResult> {
    const { signal } = options;
    let isSplit = false;
    for (let isAgain = false;; isAgain = true) {
      const life = await this.#options.epoch.current(signal);
      const known = this.#known.log(log.name, life);
      const batch = new Batch(log, messages, options);
      // What it has stored in a life that has been renewed is known by the ids of its series, too.
      if (isSplit) batch.split();
      const isStored = await this.#store({ batch, life, known, isAgain, signal });
      // Where another life has begun, what is stored in it already is found there.
      if (isStored) return { incarnation: known.epoch, outcomes: batch.outcomes };
      ({ isSplit } = batch);
    }
  }

  async #store(writing: Writing): Promise<boolean> {
    const { connection, epoch } = this.#options;
    const { batch, life, isAgain, signal } = writing;
    const { newest: newestAtFirst } = life;
    let isSetBack = false;
    const recalled = batch.hasIds ? recalledOf(batch) : undefined;
    if (recalled?.size) {
      const find = (engine: KvEngine) => findRecalled(batch.log.name, recalled, engine, memoryOf(batch.log));
      const { changes } = epoch;
      const lives = await connection.use(find, signal);
      if (lives.some((read) => epoch.observe(read, changes) !== life)) return false;
    }
    /** Of what is remembered of the series; null where nothing is. */
    let before = this.#known.versionOf(batch.series) ?? (batch.first === 0 ? null : undefined);
    for (let refusals = 0; batch.pending.length > 0;) {
      if (before === undefined) {
        const { changes } = epoch;
        const found = await connection.use((engine) => findBatch(batch, engine), signal);
        if (epoch.observe(found.life, changes) !== life) return false;
        before = found.version;
        this.#known.noteVersion(batch.series, before);
        // All may have been found: a frame of no messages would be one that readers never come to.
        continue;
      }
      const ids = batch.countIds();
      const isGuarded = refusals < MAX_REFUSALS && ids > MAX_CHECKED_IDS;
      let part = batch.nextPart(isGuarded ? MAX_GUARDED_IDS : MAX_CHECKED_IDS);
      let newest: string | null | undefined;
      if (isGuarded || refusals > 0 && ids > 0) {
        const { changes } = epoch;
        const found = await this.#findIds(writing, part, refusals === 0);
        if (found.lives.some((read) => epoch.observe(read, changes) !== life)) return false;
        ({ newest } = found);
        part = part.filter(({ outcome }) => outcome === undefined);
        if (part.length === 0) continue;
      }
      const { newest: newestBefore } = life;
      const version = isGuarded && newest === undefined
        ? undefined
        : await this.#write(writing, part, before, isGuarded ? newest : undefined);
      if (version !== undefined) {
        isSetBack ||= version < newestBefore;
        batch.settle(part, version);
        continue;
      }
      before = undefined;
      if (++refusals > MAX_REFUSALS) await epoch.confirm(life, signal);
    }
    // What is stored now, and before what was known, is in a database that was set back: its places are given once more. What was stored
    // in a life before may be older than what is known of this one, too.
    if (!isAgain) isSetBack ||= !batch.isStoredAfter(newestAtFirst);
    if (isSetBack) await epoch.renew(life, signal);
    return !isSetBack;
  }

  /** Looks which messages of a part are stored already; the first time not for those that the write checks itself. */
  #findIds(
    { batch, known, signal }: Writing,
    part: readonly Pending[],
    isFirst: boolean,
  ): Promise<IdsState> {
    const named = part.filter((pending) => batch.idOf(pending) !== undefined);
    const sought = isFirst ? named.slice(CHECKED_BESIDE_GUARD) : named;
    const newest = isFirst ? known.newest : undefined;
    return this.#options.connection.use((engine) => findIds(batch, sought, engine, newest), signal);
  }

  /** Writes a part; gives undefined where a check does not hold. */
  async #write(
    writing: Writing,
    part: readonly Pending[],
    before: string | null,
    newest: string | null | undefined,
  ): Promise<string | undefined> {
    const { batch, life, known, signal } = writing;
    // Each attempt is another one: the life may have to be made sure of by now.
    const { version, draft: { confirmedAt, hasIds, hasUnnamed } } = await this.#options.connection.use(
      async (engine) => {
        const draft = this.#draft(writing, part, before, newest);
        return { version: await engine.write(draft.write), draft };
      },
      signal,
      "write",
    );
    if (version === undefined) return undefined;
    noteVersion(life, version);
    if (confirmedAt !== undefined) life.confirmedAt = confirmedAt;
    known.isDeclared = true;
    if (hasIds) known.newest = version;
    if (hasUnnamed) this.#known.noteVersion(batch.series, version);
    return version;
  }

  #draft(
    { batch: { log, series, first, isSplit }, batch, life, known }: Writing,
    part: readonly Pending[],
    before: string | null,
    newest: string | null | undefined,
  ): Draft {
    const { name, policy } = log;
    const expireIn = memoryOf(log);
    const ids: KvSet[] = [];
    const unnamed: number[] = [];
    for (const [index, pending] of part.entries()) {
      const id = batch.idOf(pending);
      if (id === undefined) unnamed.push(pending.index, index);
      else ids.push({ key: idKey(name, id), value: encodeId(series, first, index, part.length), expireIn });
    }
    const [hasIds, hasUnnamed] = [ids.length > 0, unnamed.length > 0];
    const checks: KvCheck[] = [];
    const sets = [...ids, ...known.sets];
    const isNumbered = isSplit || hasUnnamed;
    const now = performance.now();
    // What is remembered of a series is not there in a database made anew. Where one was set back, it may be, in a life that was renewed.
    const isConfirming = !isNumbered || before === null || now - life.confirmedAt >= MAX_UNCONFIRMED;
    if (isConfirming) checks.push(known.check);
    if (isNumbered) {
      const record = seriesKey(name, series);
      checks.push({ key: record, version: before });
      if (hasUnnamed) sets.push({ key: record, value: encodeBatch(first, part.length, unnamed), expireIn });
    }
    if (newest !== undefined) checks.push({ key: idsKey(name), version: newest });
    const checked = newest === undefined ? ids : ids.slice(0, CHECKED_BESIDE_GUARD);
    checks.push(...checked.map(({ key }) => ({ key, version: null })));
    if (hasIds) sets.push({ key: idsKey(name), value: NOTHING });
    if (!known.isDeclared) sets.push({ key: policyKey(name), value: encodePolicy(policy) });
    const value = encodeFrame({ time: this.#options.now(), messages: part.map(({ message }) => message) });
    const write: KvWrite = { checks, sets, append: { prefix: known.frames, value } };
    return { write, confirmedAt: isConfirming ? now : undefined, hasIds, hasUnnamed };
  }
}

/** How long series and ids of a log are remembered, in milliseconds. */
function memoryOf({ policy }: LogRef): number {
  return Math.max(policy.dedupe, MIN_MEMORY);
}

/** Of how many logs and series something is known; of more it is found out again. */
const MAX_KNOWN = 10_000;

/** What is known of a log. */
export interface KnownLog {
  /** The life of the log. */
  readonly epoch: string;
  /** Holds in that life alone. */
  readonly check: KvCheck;
  /** What is set by each write. */
  readonly sets: readonly KvSet[];
  /** Where frames go. */
  readonly frames: KvKey;
  /** Whether its policy is written. */
  isDeclared: boolean;
  /** The version of its newest write with ids; there may have been newer ones by others. */
  newest: string | undefined;
}

/** Knows logs and series of one life of the database. */
export class Known {
  readonly #bellOf: (name: string) => number;
  #life: Life | undefined;
  /** By name; the one that was used last comes last. */
  readonly #logs = new Map<string, KnownLog>();
  /** The version of what is remembered of a series, by its key; the one that was used last comes last. */
  readonly #series = new Map<string, string>();

  /**
   * Knows nothing yet.
   *
   * @param bellOf The bell of a log.
   */
  constructor(bellOf: (name: string) => number) {
    this.#bellOf = bellOf;
  }

  /** What is known of a log, in a life of the database: of another one nothing is known any more. */
  log(name: string, life: Life): KnownLog {
    if (life !== this.#life) {
      this.#logs.clear();
      this.#series.clear();
    }
    this.#life = life;
    const log = this.#logs.get(name) ?? this.#newLog(name, life);
    note(this.#logs, name, log);
    return log;
  }

  /** The version of what is remembered of a series; undefined where it is not known. */
  versionOf(series: string): string | undefined {
    return this.#series.get(series);
  }

  /** Takes note of the version of what is remembered of a series; null where nothing is. */
  noteVersion(series: string, version: string | null): void {
    if (version === null) this.#series.delete(series);
    else note(this.#series, series, version);
  }

  #newLog(name: string, life: Life): KnownLog {
    const epoch = epochOf(name, life);
    const encoder = new TextEncoder();
    return {
      epoch,
      check: checkOf(life),
      sets: [
        { key: headKey(name), value: encoder.encode(epoch) },
        { key: bellKey(this.#bellOf(name)), value: encoder.encode(name) },
      ],
      frames: framesPrefix(name),
      isDeclared: false,
      newest: undefined,
    };
  }
}

/** Notes something as the last that was used, and drops what was not used for longest where there is too much. */
function note<Value>(known: Map<string, Value>, key: string, value: Value): void {
  known.delete(key);
  known.set(key, value);
  if (known.size <= MAX_KNOWN) return;
  for (const oldest of known.keys()) {
    known.delete(oldest);
    return;
  }
}
