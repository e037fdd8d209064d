/** Appends batches. Each message is stored once, whatever happens to requests and replies. */
import { OrderedMap } from "../../base/ordered_map.ts";
import { type AppendOptions, type AppendResult, encodePolicy, type LogRef, type NewMessage } from "../topic_store.ts";
import {
  Batch,
  encodeFence,
  encodeIdEntry,
  encodeSessionEntry,
  noteRepublished,
  type Pending,
  type Republished,
  republishedOf,
  sessionOf,
} from "./batch.ts";
import { inParts, KEYS_PER_READ, type KvCheck, type KvEntry, type KvKey, type KvSet } from "./engine.ts";
import { checkOf, type Incarnation, type Incarnations, logIncarnationOf, noteVersion } from "./incarnation.ts";
import {
  batchesPrefix,
  changedKey,
  encodeBatch,
  headKey,
  idKey,
  newestIdsKey,
  policyKey,
  sessionKey,
  shardOf,
} from "./keys.ts";

/** The least life of dedup entries: appends and unknown outcomes are retried for less. */
const MIN_DEDUP = 120_000;
/**
 * How many ids a write checks one by one. It has at most 10 checks: the incarnation, the session,
 * and these. If there are more, the ids are read, and the write checks the guard: the entry that
 * every write with ids sets. Single checks alone would split a batch of many ids, which halves the
 * rate of 64 publishers.
 */
const MAX_CHECKED_IDS = 8;
const CHECKED_BESIDE_GUARD = MAX_CHECKED_IDS - 1;
/**
 * After so many refused writes, ids are checked one by one, which no other write refuses: a node
 * far from the database would wait for as long as nearer ones write.
 */
const MAX_REFUSALS = 3;
/** How long writes may go without a check of the incarnation, in milliseconds. */
const MAX_UNCONFIRMED = 1_000;
const MAX_LOGS = 10_000;

const EMPTY = new Uint8Array();
const encoder = new TextEncoder();

/** What this process knows of a log by its own writes, in one incarnation of the database. */
interface WrittenLog {
  readonly incarnation: Incarnation;
  readonly sets: readonly KvSet[];
  hasPolicy: boolean;
  newestIds: string | undefined;
  session: { readonly id: string; readonly version: string } | undefined;
}

/** The versions that a write checks; null for an absent entry, undefined for no check. */
interface CheckedVersions {
  readonly session: string | null | undefined;
  readonly guard: string | null | undefined;
}

export class Appender {
  readonly #incarnations: Incarnations;
  readonly #now: () => number;
  readonly #logs = new OrderedMap<string, WrittenLog>();

  constructor(incarnations: Incarnations, now: () => number) {
    this.#incarnations = incarnations;
    this.#now = now;
  }

  /**
   * Appends a batch. Each attempt of a write checks that the entry of the session is as it was
   * before the batch, and that the ids are absent. So only the first attempt that the database
   * carries out has an effect, however late.
   */
  async append(log: LogRef, messages: readonly NewMessage[], { signal }: AppendOptions = {}): Promise<AppendResult> {
    const session = sessionOf(messages);
    let isSplit = false;
    for (let isAgain = false;; isAgain = true) {
      const written = this.#writtenLog(log.name, await this.#incarnations.current(signal));
      const batch = new Batch(log, messages, session);
      // A renewed database still has what an earlier attempt has stored, also by the ids of a split
      // batch.
      if (isSplit) batch.split();
      if (await this.#store(batch, written, isAgain, signal)) {
        return { incarnation: logIncarnationOf(log.name, written.incarnation), outcomes: batch.outcomes };
      }
      ({ isSplit } = batch);
    }
  }

  #writtenLog(name: string, incarnation: Incarnation): WrittenLog {
    const known = this.#logs.get(name);
    const log = known?.incarnation === incarnation ? known : newWrittenLog(name, incarnation);
    this.#logs.set(name, log);
    this.#logs.shrink(MAX_LOGS);
    return log;
  }

  /** Returns false if a new incarnation has begun: then all is repeated there. */
  async #store(
    batch: Batch,
    written: WrittenLog,
    isAgain: boolean,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { incarnation } = written;
    const newestAtFirst = incarnation.newestVersion;
    let isRestored = false;
    if (!await this.#findRepublished(batch, incarnation, signal)) return false;
    let session = written.session?.id === batch.session
      ? written.session.version
      : batch.sequence === 0
      ? null
      : undefined;
    for (let refusals = 0; batch.pending.length > 0;) {
      const isGuarded = refusals < MAX_REFUSALS && batch.pending.filter(hasId).length > MAX_CHECKED_IDS;
      let part = batch.nextPart(isGuarded ? Infinity : MAX_CHECKED_IDS);
      const { isSplit } = batch;
      const needsSession = isSplit || !part.every(hasId);
      let guard: string | null | undefined = isGuarded && refusals === 0 ? written.newestIds : undefined;

      // Before the first attempt, do not read what the checks of the write find out.
      const seeksSession = needsSession && session === undefined;
      const sought = isGuarded || refusals > 0
        ? part.filter(hasId).slice(refusals === 0 ? CHECKED_BESIDE_GUARD : 0)
        : [];
      if (seeksSession || sought.length > 0) {
        const keys = sought.map(({ id }) => idKey(batch.log.name, id!));
        if (seeksSession) keys.push(sessionKey(batch.log.name, batch.session));
        const guardKeys = isGuarded && guard === undefined ? [newestIdsKey(batch.log.name)] : [];
        const snapshot = await this.#read(keys, guardKeys, incarnation, signal);
        if (!snapshot) return false;
        for (const [index, pending] of sought.entries()) {
          const entry = snapshot.entries[index];
          if (entry) batch.noteId(pending, entry);
        }
        if (seeksSession) {
          const entry = snapshot.entries[sought.length];
          session = entry?.version ?? null;
          written.session = entry && { id: batch.session, version: entry.version };
          if (entry) batch.noteSession(entry);
        }
        if (guardKeys.length > 0) guard = snapshot.guard;
        part = part.filter(({ outcome }) => outcome === undefined);
        // Readers never find a batch without messages.
        if (part.length === 0 || batch.isSplit !== isSplit) continue;
      }

      const { newestVersion } = incarnation;
      const checked = { session: needsSession ? session : undefined, guard };
      const isTorn = isGuarded && guard === undefined;
      const version = isTorn ? undefined : await this.#write(batch, part, written, checked, signal);
      if (version !== undefined) {
        isRestored ||= version < newestVersion;
        batch.noteStored(part, version);
        continue;
      }
      session = undefined;
      if (++refusals > MAX_REFUSALS) await this.#incarnations.confirm(incarnation, signal);
    }
    // If a message that is stored now is older than a known one, a backup was restored: the cursors
    // would be given twice. In a second attempt, an older one may be that of the first attempt.
    if (!isAgain) isRestored ||= !batch.isStoredAfter(newestAtFirst);
    if (isRestored) await this.#incarnations.renew(incarnation, signal);
    return !isRestored;
  }

  /**
   * The guard is undefined if it changed between the reads; the result, if the incarnation ended.
   */
  async #read(
    keys: readonly KvKey[],
    guardKeys: readonly KvKey[],
    incarnation: Incarnation,
    signal: AbortSignal | undefined,
  ): Promise<{ entries: (KvEntry | undefined)[]; guard: string | null | undefined } | undefined> {
    const snapshots = await Promise.all(
      inParts(keys, KEYS_PER_READ - 1 - guardKeys.length).map((part) =>
        this.#incarnations.get([...guardKeys, ...part], signal)
      ),
    );
    if (snapshots.some((snapshot) => snapshot.incarnation !== incarnation)) return undefined;
    const guards = new Set(snapshots.map(({ entries }) => entries[0]?.version ?? null));
    const [guard] = guards;
    const entries = snapshots.flatMap(({ entries }) => entries.slice(guardKeys.length));
    return { entries, guard: guards.size === 1 ? guard : undefined };
  }

  async #write(
    { log: { name, policy }, session, sequence }: Batch,
    part: readonly Pending[],
    written: WrittenLog,
    checked: CheckedVersions,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    const { incarnation } = written;
    const expireIn = Math.max(policy.dedupe, MIN_DEDUP);
    const sets: KvSet[] = [];
    const checks: KvCheck[] = [];
    const unnamed: number[] = [];
    for (const [index, { id, index: indexInBatch }] of part.entries()) {
      if (id === undefined) {
        unnamed.push(indexInBatch, index);
        continue;
      }
      const key = idKey(name, id);
      sets.push({ key, value: encodeIdEntry(session, sequence, index, part.length), expireIn });
      if (checked.guard === undefined || sets.length <= CHECKED_BESIDE_GUARD) checks.push({ key, version: null });
    }
    const hasIds = sets.length > 0;
    sets.push(...written.sets);
    const key = sessionKey(name, session);
    if (checked.session !== undefined) checks.push({ key, version: checked.session });
    if (checked.guard !== undefined) checks.push({ key: newestIdsKey(name), version: checked.guard });
    if (unnamed.length > 0) {
      sets.push({ key, value: encodeSessionEntry(sequence, part.length, null, ...unnamed), expireIn });
    }
    if (hasIds) sets.push({ key: newestIdsKey(name), value: EMPTY });
    if (!written.hasPolicy) sets.push({ key: policyKey(name), value: encoder.encode(encodePolicy(policy)) });
    const messages = part.map(({ message }) => message);

    let confirmedAt = incarnation.confirmedAt;
    const version = await this.#incarnations.connection.use(
      (engine) => {
        const now = performance.now();
        // A version of the session's entry cannot hold in a database that was created again. In one
        // that was restored it may.
        const isConfirming = !checked.session || now - incarnation.confirmedAt >= MAX_UNCONFIRMED;
        if (isConfirming) confirmedAt = now;
        return engine.write({
          checks: isConfirming ? [checkOf(incarnation), ...checks] : checks,
          sets,
          append: { prefix: batchesPrefix(name), value: encodeBatch({ time: this.#now(), messages }) },
        });
      },
      signal,
      "write",
    );
    if (version === undefined) return undefined;
    noteVersion(incarnation, version);
    incarnation.confirmedAt = Math.max(incarnation.confirmedAt, confirmedAt);
    written.hasPolicy = true;
    if (hasIds) written.newestIds = version;
    if (unnamed.length > 0) written.session = { id: session, version };
    return version;
  }

  /**
   * Finds republished messages. If their first batch was not stored, it fences its session, so that
   * a late write stores no message twice. Returns false if the incarnation has ended.
   */
  async #findRepublished(batch: Batch, incarnation: Incarnation, signal: AbortSignal | undefined): Promise<boolean> {
    const { name, policy } = batch.log;
    const expireIn = Math.max(policy.dedupe, MIN_DEDUP);
    const find = async (part: readonly (readonly [string, readonly Republished[]])[]): Promise<boolean> => {
      const keys = part.map(([session]) => sessionKey(name, session));
      for (;;) {
        const { incarnation: current, entries } = await this.#incarnations.get(keys, signal);
        if (current !== incarnation) return false;
        const checks: KvCheck[] = [];
        const sets: KvSet[] = [];
        for (const [index, [, messages]] of part.entries()) {
          const [key, entry] = [keys[index]!, entries[index]];
          if (noteRepublished(messages, entry)) continue;
          checks.push({ key, version: entry?.version ?? null });
          sets.push({ key, value: encodeFence(entry), expireIn });
        }
        if (checks.length === 0) return true;
        await this.#incarnations.connection.use((engine) => engine.write({ checks, sets }), signal, "write");
      }
    };
    const found = await Promise.all(inParts([...republishedOf(batch)], KEYS_PER_READ - 1).map(find));
    return found.every(Boolean);
  }
}

function hasId({ id }: Pending): boolean {
  return id !== undefined;
}

function newWrittenLog(name: string, incarnation: Incarnation): WrittenLog {
  const sets = [
    { key: headKey(name), value: encoder.encode(logIncarnationOf(name, incarnation)) },
    { key: changedKey(shardOf(name)), value: encoder.encode(name) },
  ];
  return { incarnation, sets, hasPolicy: false, newestIds: undefined, session: undefined };
}
