/**
 * Appends batches to logs. Each message is stored once, whatever becomes of requests and replies.
 */
import type { AppendOptions, AppendResult, LogRef, NewMessage } from "../store.ts";
import {
  Batch,
  encodeIdEntry,
  encodeSessionEntry,
  findBatch,
  findIds,
  findRepublished,
  type IdsState,
  type Pending,
  republishedOf,
} from "./batch.ts";
import type { Connection } from "./connection.ts";
import type { KvCheck, KvEngine, KvKey, KvSet, KvWrite } from "./engine.ts";
import { checkOf, type Incarnation, type Incarnations, logIncarnationOf, noteVersion } from "./incarnation.ts";
import {
  changedKey,
  encodePolicy,
  encodeRecord,
  headKey,
  idKey,
  newestIdsKey,
  policyKey,
  recordsPrefix,
  sessionKey,
  shardOf,
} from "./keys.ts";

/**
 * How long dedup entries are kept at least, in milliseconds: longer than an append is retried, and
 * than a publisher takes to republish a message whose outcome is unknown.
 */
const MIN_DEDUP = 120_000;

/**
 * How many ids a write checks one by one. It has at most 10 checks: the incarnation, the session,
 * and these.
 */
const MAX_CHECKED_IDS = 8;
/** How many ids it checks one by one together with the newest write with ids. */
const CHECKED_BESIDE_GUARD = MAX_CHECKED_IDS - 1;
/**
 * How many ids a write has that checks the newest write with ids: as many as a batch. Checks of
 * single ids alone would split a batch of many ids, which halves the rate of 64 publishers.
 */
const MAX_GUARDED_IDS = 256;
/**
 * After so many refused writes the ids are checked one by one, since no other write can refuse
 * that. A node far from the database would otherwise wait for as long as nearer ones write.
 */
const MAX_REFUSALS = 3;

/** How long writes may go without a check of the incarnation, in milliseconds. */
const MAX_UNCONFIRMED = 1_000;

const EMPTY = new Uint8Array();

/** A batch that is being stored. */
interface Writing {
  readonly batch: Batch;
  readonly incarnation: Incarnation;
  readonly cached: CachedLog;
  /** Whether an earlier incarnation may hold some of it. */
  readonly isAgain: boolean;
  readonly signal: AbortSignal | undefined;
}

/** A write, before it is made. */
interface Draft {
  readonly write: KvWrite;
  /** When it was drafted, if it checks the incarnation, in milliseconds of `performance.now()`. */
  readonly confirmedAt: number | undefined;
  /** Whether it sets entries of ids. */
  readonly hasIds: boolean;
  /** Whether it sets the entry of the session. */
  readonly hasUnnamed: boolean;
}

/** What appending needs. */
export interface AppenderOptions {
  /** The database. */
  readonly connection: Connection;
  /** Its incarnation. */
  readonly incarnations: Incarnations;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/** Appends to logs. */
export class Appender {
  readonly #options: AppenderOptions;
  readonly #cache = new WriteCache();

  /** Writes nothing yet. */
  constructor(options: AppenderOptions) {
    this.#options = options;
  }

  /**
   * Appends a batch.
   *
   * A write whose reply is lost is made again. Each attempt checks that the entry of the session is
   * as it was before the batch, and that the ids are not there. So only the first of all attempts
   * has an effect, even if it is carried out long after it was given up.
   *
   * A few ids are checked one by one. If there are many, they are read, and the write checks that
   * no other write with ids came since: each of them sets the same entry.
   */
  async append(log: LogRef, messages: readonly NewMessage[], options: AppendOptions): Promise<AppendResult> {
    const { signal } = options;
    let isSplit = false;
    for (let isAgain = false;; isAgain = true) {
      const incarnation = await this.#options.incarnations.current(signal);
      const cached = this.#cache.log(log.name, incarnation);
      const batch = new Batch(log, messages, options);
      // A renewed database still holds what an earlier attempt has stored, by the ids of a split
      // batch, too.
      if (isSplit) batch.split();
      const isStored = await this.#store({ batch, incarnation, cached, isAgain, signal });
      if (isStored) return { incarnation: cached.incarnation, outcomes: batch.outcomes };
      ({ isSplit } = batch);
    }
  }

  /** Stores a batch. Returns false if a new incarnation has begun: then all is done again there. */
  async #store(writing: Writing): Promise<boolean> {
    const { connection, incarnations } = this.#options;
    const { batch, incarnation, isAgain, signal } = writing;
    const { newestVersion: newestAtFirst } = incarnation;
    let isSetBack = false;
    const republished = batch.hasIds ? republishedOf(batch) : undefined;
    if (republished?.size) {
      const find = (engine: KvEngine) => findRepublished(batch.log.name, republished, engine, dedupOf(batch.log));
      const { changes } = incarnations;
      const read = await connection.use(find, signal);
      if (read.some((entry) => incarnations.observe(entry, changes) !== incarnation)) return false;
    }
    /**
     * The version of the session's entry; null if there is none, undefined if it has to be read.
     */
    let before = this.#cache.versionOf(batch.session) ?? (batch.sequence === 0 ? null : undefined);
    for (let refusals = 0; batch.pending.length > 0;) {
      if (before === undefined) {
        const { changes } = incarnations;
        const found = await connection.use((engine) => findBatch(batch, engine), signal);
        if (incarnations.observe(found.incarnation, changes) !== incarnation) return false;
        before = found.version;
        this.#cache.noteVersion(batch.session, before);
        // All may be stored. A record without messages would be one that readers never come to.
        continue;
      }
      const ids = batch.countIds();
      const isGuarded = refusals < MAX_REFUSALS && ids > MAX_CHECKED_IDS;
      let part = batch.nextPart(isGuarded ? MAX_GUARDED_IDS : MAX_CHECKED_IDS);
      let newest: string | null | undefined;
      if (isGuarded || refusals > 0 && ids > 0) {
        const { changes } = incarnations;
        const found = await this.#findIds(writing, part, refusals === 0);
        if (found.incarnations.some((entry) => incarnations.observe(entry, changes) !== incarnation)) return false;
        ({ newest } = found);
        part = part.filter(({ outcome }) => outcome === undefined);
        if (part.length === 0) continue;
      }
      const { newestVersion } = incarnation;
      const version = isGuarded && newest === undefined
        ? undefined
        : await this.#write(writing, part, before, isGuarded ? newest : undefined);
      if (version !== undefined) {
        isSetBack ||= version < newestVersion;
        batch.settle(part, version);
        continue;
      }
      before = undefined;
      if (++refusals > MAX_REFUSALS) await incarnations.confirm(incarnation, signal);
    }
    // A message that is stored now and is older than one known before is in a database that was set
    // back: its cursors would be given twice. In a second attempt, an older one may be that of the
    // first attempt.
    if (!isAgain) isSetBack ||= !batch.isStoredAfter(newestAtFirst);
    if (isSetBack) await incarnations.renew(incarnation, signal);
    return !isSetBack;
  }

  /**
   * Reads which messages of a part are stored already; the first time without those that the write
   * itself checks.
   */
  #findIds({ batch, cached, signal }: Writing, part: readonly Pending[], isFirst: boolean): Promise<IdsState> {
    const named = part.filter((pending) => batch.idOf(pending) !== undefined);
    const sought = isFirst ? named.slice(CHECKED_BESIDE_GUARD) : named;
    const newest = isFirst ? cached.newestIds : undefined;
    return this.#options.connection.use((engine) => findIds(batch, sought, engine, newest), signal);
  }

  /** Writes a part. Returns undefined if a check does not hold. */
  async #write(
    writing: Writing,
    part: readonly Pending[],
    before: string | null,
    newest: string | null | undefined,
  ): Promise<string | undefined> {
    const { batch, incarnation, cached, signal } = writing;
    // Each attempt has a draft of its own: by then it may have to check the incarnation.
    const { version, draft: { confirmedAt, hasIds, hasUnnamed } } = await this.#options.connection.use(
      async (engine) => {
        const draft = this.#draft(writing, part, before, newest);
        return { version: await engine.write(draft.write), draft };
      },
      signal,
      "write",
    );
    if (version === undefined) return undefined;
    noteVersion(incarnation, version);
    if (confirmedAt !== undefined) incarnation.confirmedAt = confirmedAt;
    cached.hasPolicy = true;
    if (hasIds) cached.newestIds = version;
    if (hasUnnamed) this.#cache.noteVersion(batch.session, version);
    return version;
  }

  #draft(
    { batch, incarnation, cached }: Writing,
    part: readonly Pending[],
    before: string | null,
    newest: string | null | undefined,
  ): Draft {
    const { log, session, sequence } = batch;
    const { name, policy } = log;
    const expireIn = dedupOf(log);
    const ids: KvSet[] = [];
    const unnamed: number[] = [];
    for (const [index, pending] of part.entries()) {
      const id = batch.idOf(pending);
      if (id === undefined) unnamed.push(pending.index, index);
      else ids.push({ key: idKey(name, id), value: encodeIdEntry(session, sequence, index, part.length), expireIn });
    }
    const [hasIds, hasUnnamed] = [ids.length > 0, unnamed.length > 0];
    const checks: KvCheck[] = [];
    const sets = [...ids, ...cached.sets];
    const checksSession = batch.isSplit || hasUnnamed;
    const now = performance.now();
    // A version of the session's entry cannot hold in a recreated database. In one that was set
    // back it may.
    const isConfirming = !checksSession || before === null || now - incarnation.confirmedAt >= MAX_UNCONFIRMED;
    if (isConfirming) checks.push(cached.check);
    if (checksSession) {
      const key = sessionKey(name, session);
      checks.push({ key, version: before });
      if (hasUnnamed) sets.push({ key, value: encodeSessionEntry(sequence, part.length, unnamed), expireIn });
    }
    if (newest !== undefined) checks.push({ key: newestIdsKey(name), version: newest });
    const checked = newest === undefined ? ids : ids.slice(0, CHECKED_BESIDE_GUARD);
    checks.push(...checked.map(({ key }) => ({ key, version: null })));
    if (hasIds) sets.push({ key: newestIdsKey(name), value: EMPTY });
    if (!cached.hasPolicy) sets.push({ key: policyKey(name), value: encodePolicy(policy) });
    const value = encodeRecord({ time: this.#options.now(), messages: part.map(({ message }) => message) });
    const write: KvWrite = { checks, sets, append: { prefix: cached.prefix, value } };
    return { write, confirmedAt: isConfirming ? now : undefined, hasIds, hasUnnamed };
  }
}

/** How long dedup entries of a log are kept, in milliseconds. */
function dedupOf({ policy }: LogRef): number {
  return Math.max(policy.dedupe, MIN_DEDUP);
}

/** How many logs and how many sessions a cache holds. */
const MAX_CACHED = 10_000;

/** What this process knows of a log from its own writes. */
export interface CachedLog {
  /** The incarnation of the log. */
  readonly incarnation: string;
  /** Holds in that incarnation only. */
  readonly check: KvCheck;
  /** What each write sets. */
  readonly sets: readonly KvSet[];
  /** The prefix of the log's records. */
  readonly prefix: KvKey;
  /** Whether its policy is written. */
  hasPolicy: boolean;
  /** The version of its newest write with ids by this process. */
  newestIds: string | undefined;
}

/** Caches what writes need of logs and sessions, in one incarnation of the database. */
export class WriteCache {
  #incarnation: Incarnation | undefined;
  /** By name; the one used last comes last. */
  readonly #logs = new Map<string, CachedLog>();
  /** The versions of the sessions' entries; the one used last comes last. */
  readonly #sessions = new Map<string, string>();

  /** A log in an incarnation. Another incarnation empties the cache. */
  log(name: string, incarnation: Incarnation): CachedLog {
    if (incarnation !== this.#incarnation) {
      this.#logs.clear();
      this.#sessions.clear();
    }
    this.#incarnation = incarnation;
    const log = this.#logs.get(name) ?? newCachedLog(name, incarnation);
    cache(this.#logs, name, log);
    return log;
  }

  /** The version of a session's entry; undefined if it is not known. */
  versionOf(session: string): string | undefined {
    return this.#sessions.get(session);
  }

  /** Takes note of the version of a session's entry; null if there is none. */
  noteVersion(session: string, version: string | null): void {
    if (version === null) this.#sessions.delete(session);
    else cache(this.#sessions, session, version);
  }
}

function newCachedLog(name: string, incarnation: Incarnation): CachedLog {
  const id = logIncarnationOf(name, incarnation);
  const encoder = new TextEncoder();
  return {
    incarnation: id,
    check: checkOf(incarnation),
    sets: [
      { key: headKey(name), value: encoder.encode(id) },
      { key: changedKey(shardOf(name)), value: encoder.encode(name) },
    ],
    prefix: recordsPrefix(name),
    hasPolicy: false,
    newestIds: undefined,
  };
}

/**
 * Caches an entry as the one used last, and drops the least recently used one if there are too
 * many.
 */
function cache<Value>(entries: Map<string, Value>, key: string, value: Value): void {
  entries.delete(key);
  entries.set(key, value);
  if (entries.size <= MAX_CACHED) return;
  const [oldest] = entries.keys();
  entries.delete(oldest!);
}
