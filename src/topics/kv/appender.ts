/** Appends batches to logs, whatever becomes of the replies. */
import { toBatchPlace } from "../batch_id.ts";
import type { AppendOptions, AppendResult, LogRef, NewMessage } from "../store.ts";
import { Batch, type Pending } from "./batch.ts";
import type { Connection } from "./connection.ts";
import type { KvCheck, KvEntry, KvSet, KvWrite } from "./engine.ts";
import type { Epoch } from "./epoch.ts";
import { encodeFrame } from "./frame.ts";
import { batchKey, bellKey, EPOCH_KEY, framesPrefix, headKey, idKey, idsKey, policyKey } from "./keys.ts";
import { encodePolicy } from "./policy.ts";
import { type BatchState, encodeBatch, encodeId, findBatch, findIds, placeInBatch } from "./records.ts";

/**
 * How long keys of batches and ids are remembered at least, in milliseconds: longer than an append is tried again, and than whoever is
 * told of an unknown outcome takes to publish again.
 */
const MIN_MEMORY = 120_000;

/** Of how many logs something is known; of more it is but found out again. */
const MAX_KNOWN = 10_000;

/** How many ids a write checks one by one. It has at most 10 checks: the life of the database, the key of the batch, and these. */
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

const NOTHING: Uint8Array = new Uint8Array();

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
  /** The life of the database that the rest is known of. */
  #life: KvEntry | undefined;
  /** The logs whose policy is written. */
  readonly #declared = new Set<string>();
  /** The newest write with ids, by the name of the log; there may have been newer ones by others. */
  readonly #newest = new Map<string, string>();

  /** Writes nothing yet. */
  constructor(options: AppenderOptions) {
    this.#options = options;
  }

  /**
   * Appends a batch.
   *
   * A write whose reply is lost is made again. It checks that neither the batch's key nor one of the ids is there, so that of all the
   * attempts, of which one may be carried out long after it was given up, the first alone has an effect.
   *
   * A few ids are checked one by one. Of many it is read that they are not there, and the write checks that since then there has been
   * no other write with ids: all of them write one entry, whose version tells.
   */
  async append(log: LogRef, messages: readonly NewMessage[], { key, signal }: AppendOptions): Promise<AppendResult> {
    const { epoch } = this.#options;
    let batch: Batch;
    // Where the database turns out to be another one, nothing of the batch is in it.
    do batch = new Batch(log, key, messages); while (!await this.#store(batch, signal));
    return { epoch: await epoch.of(log.name), outcomes: batch.outcomes };
  }

  async #store(batch: Batch, signal: AbortSignal | undefined): Promise<boolean> {
    const { connection, epoch } = this.#options;
    const life = await epoch.current();
    if (life !== this.#life) this.#startAnew(life);
    for (const pending of batch.pending) await this.#recall(batch.log, pending, signal);
    let state: BatchState = { life, version: null };
    for (let refusals = 0; batch.pending.length > 0;) {
      if (refusals > 0) {
        state = await connection.use((engine) => findBatch(batch, engine), signal);
        if (await epoch.observe(state.life)) return false;
      }
      const isGuarded = refusals < MAX_REFUSALS && batch.countIds() > MAX_CHECKED_IDS;
      let part = batch.nextPart(isGuarded ? MAX_GUARDED_IDS : MAX_CHECKED_IDS);
      let newest: string | null | undefined;
      if (isGuarded || refusals > 0) {
        newest = await this.#findIds(batch, part, refusals === 0, signal);
        part = part.filter(({ outcome }) => outcome === undefined);
        if (part.length === 0) continue;
      }
      const version = isGuarded && newest === undefined
        ? undefined
        : await this.#write(batch, part, state, isGuarded ? newest : undefined, signal);
      if (version === undefined) refusals++;
      else batch.settle(part, version);
    }
    return true;
  }

  /** What is known is of another life of the database. */
  #startAnew(life: KvEntry): void {
    this.#life = life;
    this.#declared.clear();
    this.#newest.clear();
  }

  /** Looks which messages of a part are stored already; the first time not for those that the write checks itself. */
  #findIds(
    batch: Batch,
    part: readonly Pending[],
    isFirst: boolean,
    signal: AbortSignal | undefined,
  ): Promise<string | null | undefined> {
    const named = part.filter((pending) => batch.idOf(pending) !== undefined);
    const sought = isFirst ? named.slice(CHECKED_BESIDE_GUARD) : named;
    const newest = isFirst ? this.#newest.get(batch.log.name) : undefined;
    return this.#options.connection.use((engine) => findIds(batch, sought, engine, newest), signal);
  }

  /** Writes a part; gives undefined where a check does not hold. */
  async #write(
    batch: Batch,
    part: readonly Pending[],
    state: BatchState,
    newest: string | null | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    const { log: { name } } = batch;
    const write = this.#writeOf(batch, part, state, newest);
    const version = await this.#options.connection.use((engine) => engine.write(write), signal);
    if (version === undefined) return undefined;
    if (this.#declared.size >= MAX_KNOWN) this.#declared.clear();
    this.#declared.add(name);
    if (this.#newest.size >= MAX_KNOWN) this.#newest.clear();
    if (part.some((pending) => batch.idOf(pending) !== undefined)) this.#newest.set(name, version);
    return version;
  }

  #writeOf(
    batch: Batch,
    part: readonly Pending[],
    { life, version }: BatchState,
    newest: string | null | undefined,
  ): KvWrite {
    const { now, bellOf } = this.#options;
    const { log: { name, policy }, key, isSplit } = batch;
    const expireIn = Math.max(policy.dedupe, MIN_MEMORY);
    const ids: KvSet[] = [];
    const unnamed: number[] = [];
    for (const [index, pending] of part.entries()) {
      const id = batch.idOf(pending);
      if (id === undefined) unnamed.push(pending.index, index);
      else ids.push({ key: idKey(name, id), value: encodeId(key, index, part.length), expireIn });
    }
    const checks: KvCheck[] = [{ key: EPOCH_KEY, version: life?.version ?? null }];
    const sets = [...ids];
    if (isSplit || unnamed.length > 0) checks.push({ key: batchKey(name, key), version });
    if (unnamed.length > 0) {
      sets.push({ key: batchKey(name, key), value: encodeBatch([part.length, ...unnamed]), expireIn });
    }
    if (newest !== undefined) checks.push({ key: idsKey(name), version: newest });
    const checked = newest === undefined ? ids : ids.slice(0, CHECKED_BESIDE_GUARD);
    checks.push(...checked.map(({ key }) => ({ key, version: null })));
    if (ids.length > 0) sets.push({ key: idsKey(name), value: NOTHING });
    if (!this.#declared.has(name)) sets.push({ key: policyKey(name), value: encodePolicy(policy) });
    sets.push(
      { key: headKey(name), value: NOTHING },
      { key: bellKey(bellOf(name)), value: new TextEncoder().encode(name) },
    );
    const value = encodeFrame({ time: now(), messages: part.map(({ message }) => message) });
    return { checks, sets, append: { prefix: framesPrefix(name), value } };
  }

  /**
   * Finds a message that is published again by the id that it had in another batch. Where that batch has not been stored, it is marked:
   * it must not be stored later, when the message has been appended anew.
   */
  async #recall({ name, policy }: LogRef, pending: Pending, signal: AbortSignal | undefined): Promise<void> {
    const { id } = pending.message;
    const place = id === undefined ? undefined : toBatchPlace(id);
    if (!place) return;
    const key = batchKey(name, place.key);
    const expireIn = Math.max(policy.dedupe, MIN_MEMORY);
    pending.outcome = await this.#options.connection.use(async (engine) => {
      await engine.write({ checks: [{ key, version: null }], sets: [{ key, value: encodeBatch([]), expireIn }] });
      const [entry] = await engine.get([key]);
      const cursor = entry && placeInBatch(entry, place.index);
      return cursor === undefined ? undefined : { cursor, duplicate: true };
    }, signal);
  }
}
