/** Appends batches to logs, whatever becomes of the replies. */
import { toBatchPlace } from "../batch_id.ts";
import type { AppendOptions, AppendResult, LogRef, NewMessage } from "../store.ts";
import { Batch, type Pending } from "./batch.ts";
import type { Connection } from "./connection.ts";
import type { KvCheck, KvSet, KvWrite } from "./engine.ts";
import type { Epoch } from "./epoch.ts";
import { encodeFrame } from "./frame.ts";
import { batchKey, bellKey, EPOCH_KEY, framesPrefix, headKey, idKey, idsKey, policyKey } from "./keys.ts";
import { encodePolicy } from "./policy.ts";
import { encodeBatch, encodeId, findStored, placeInBatch, type Stamps } from "./records.ts";

/**
 * How long keys of batches and ids are remembered at least, in milliseconds: longer than an append is tried again, and than whoever is
 * told of an unknown outcome takes to publish again.
 */
const MIN_MEMORY = 120_000;

/** How many logs are known to have their policy written; more are but written again. */
const MAX_DECLARED = 10_000;

/** How many ids a write checks one by one. It has at most 10 checks: the life of the database, the key of the batch, and these. */
const MAX_CHECKED_IDS = 8;
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
  readonly #declared = new Set<string>();

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
   * A few ids are checked one by one. Of many it is read that they are not there, with the version of the newest write that had ids,
   * and the write checks that this is still the newest one.
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
    for (const pending of batch.pending) await this.#recall(batch.log, pending, signal);
    let stamps: Stamps = { batch: null, newest: undefined };
    for (let refusals = 0; batch.pending.length > 0;) {
      const isGuarded = refusals < MAX_REFUSALS && batch.countIds() > MAX_CHECKED_IDS;
      if (isGuarded || refusals > 0) {
        const found = await connection.use((engine) => findStored(batch, engine), signal);
        if (await epoch.observe(found.life)) return false;
        stamps = found;
        if (isGuarded && found.newest === undefined) {
          refusals++;
          continue;
        }
      }
      const part = batch.nextPart(isGuarded ? MAX_GUARDED_IDS : MAX_CHECKED_IDS);
      if (part.length === 0) break;
      const write = this.#writeOf(batch, part, life.version, isGuarded ? stamps : { ...stamps, newest: undefined });
      const version = await connection.use((engine) => engine.write(write), signal);
      if (version === undefined) {
        refusals++;
      } else {
        batch.settle(part, version);
        this.#remember(batch.log);
      }
    }
    return true;
  }

  #writeOf(batch: Batch, part: readonly Pending[], life: string, { batch: stamp, newest }: Stamps): KvWrite {
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
    const checks: KvCheck[] = [{ key: EPOCH_KEY, version: life }];
    const sets = [...ids];
    if (isSplit || unnamed.length > 0) checks.push({ key: batchKey(name, key), version: stamp });
    if (unnamed.length > 0) {
      sets.push({ key: batchKey(name, key), value: encodeBatch([part.length, ...unnamed]), expireIn });
    }
    if (newest === undefined) checks.push(...ids.map(({ key }) => ({ key, version: null })));
    else checks.push({ key: idsKey(name), version: newest });
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

  #remember({ name }: LogRef): void {
    if (this.#declared.size >= MAX_DECLARED) this.#declared.clear();
    this.#declared.add(name);
  }
}
