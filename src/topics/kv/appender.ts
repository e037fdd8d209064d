/** Appends batches to logs: each is one write, whatever becomes of the replies. */
import { toBatchPlace } from "../batch_id.ts";
import type { AppendOptions, AppendOutcome, AppendResult, LogRef, NewMessage } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { KvEngine, KvEntry, KvKey, KvWrite } from "./engine.ts";
import type { Epoch } from "./epoch.ts";
import { encodeFrame } from "./frame.ts";
import { batchKey, bellKey, EPOCH_KEY, framesPrefix, headKey, idKey, policyKey, toCursor } from "./keys.ts";
import { encodePolicy } from "./policy.ts";

/**
 * How long keys of batches and ids are remembered at least, in milliseconds: longer than an append is tried again, and than whoever is
 * told of an unknown outcome takes to publish again.
 */
const MIN_MEMORY = 120_000;

/** How many logs are known to have their policy written; more are but written again. */
const MAX_DECLARED = 10_000;

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

/** A message on its way, and where it turned out to be. */
interface Pending {
  readonly message: NewMessage;
  /** Its index in the batch. */
  readonly index: number;
  outcome: AppendOutcome | undefined;
}

/** What is remembered of an id: the batch that brought it, and the index of its message in the frame, and how many it has. */
type IdRecord = readonly [key: string, index: number, count: number];

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
    while (batch.pending.length > 0) {
      const write = this.#writeOf(batch, life);
      const version = await connection.use((engine) => engine.write(write), signal);
      if (version === undefined) {
        const found = await connection.use((engine) => this.#findOut(engine, batch), signal);
        if (await epoch.observe(found)) return false;
      } else {
        batch.settle(version);
        this.#remember(batch.log);
      }
    }
    return true;
  }

  #writeOf(batch: Batch, life: KvEntry): KvWrite {
    const { now, bellOf } = this.#options;
    const { log: { name, policy }, pending, key } = batch;
    const expireIn = Math.max(policy.dedupe, MIN_MEMORY);
    const ids: { key: KvKey; value: Uint8Array; expireIn: number }[] = [];
    const unnamed: number[] = [];
    for (const [index, { message: { id }, index: batchIndex }] of pending.entries()) {
      if (id === undefined) unnamed.push(batchIndex, index);
      else ids.push({ key: idKey(name, id), value: encode([key, index, pending.length]), expireIn });
    }
    if (unnamed.length > 0) {
      ids.push({ key: batchKey(name, key), value: encode([pending.length, ...unnamed]), expireIn });
    }
    const policies = this.#declared.has(name) ? [] : [{ key: policyKey(name), value: encodePolicy(policy) }];
    return {
      checks: [{ key: EPOCH_KEY, version: life.version }, ...ids.map(({ key }) => ({ key, version: null }))],
      sets: [
        ...ids,
        ...policies,
        { key: headKey(name), value: NOTHING },
        { key: bellKey(bellOf(name)), value: new TextEncoder().encode(name) },
      ],
      append: {
        prefix: framesPrefix(name),
        value: encodeFrame({ time: now(), messages: pending.map(({ message }) => message) }),
      },
    };
  }

  /** Finds out why a write was refused: which messages are there already. Gives the life of the database. */
  async #findOut(engine: KvEngine, batch: Batch): Promise<KvEntry | undefined> {
    const { log: { name }, pending, key } = batch;
    const named = pending.filter(({ message: { id } }) => id !== undefined);
    const keys = named.map(({ message: { id } }) => idKey(name, id!));
    const [life, stored, ...entries] = await engine.get([EPOCH_KEY, batchKey(name, key), ...keys]);
    for (const [index, entry] of entries.entries()) {
      if (!entry) continue;
      const [storedBy, place, count] = decode<IdRecord>(entry);
      // Where an earlier attempt of this append has stored it, it is no duplicate.
      named[index]!.outcome = { cursor: toCursor(entry.version, place, count), duplicate: storedBy !== key };
    }
    for (const waiting of stored ? pending : []) {
      const cursor = placeInBatch(stored!, waiting.index);
      if (waiting.message.id === undefined && cursor !== undefined) waiting.outcome = { cursor, duplicate: false };
    }
    return life;
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
      await engine.write({ checks: [{ key, version: null }], sets: [{ key, value: encode([]), expireIn }] });
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

/** A batch of which some messages may be stored already. */
class Batch {
  readonly log: LogRef;
  readonly key: string;
  readonly #all: readonly Pending[];
  /** For each message the first one of its id, which is itself but for duplicates. */
  readonly #firsts: readonly Pending[];

  constructor(log: LogRef, key: string, messages: readonly NewMessage[]) {
    this.log = log;
    this.key = key;
    const byId = new Map<string, Pending>();
    this.#all = messages.map((message, index) => ({ message, index, outcome: undefined }));
    this.#firsts = this.#all.map((pending) => {
      const { id } = pending.message;
      if (id === undefined) return pending;
      const first = byId.get(id) ?? pending;
      byId.set(id, first);
      return first;
    });
  }

  /** What is not known to be stored, in its order. */
  get pending(): readonly Pending[] {
    return this.#all.filter((pending, index) => this.#firsts[index] === pending && pending.outcome === undefined);
  }

  /** All of them, when nothing is pending any more. */
  get outcomes(): AppendOutcome[] {
    return this.#all.map((pending, index) => {
      const { outcome } = this.#firsts[index]!;
      return this.#firsts[index] === pending ? outcome! : { ...outcome!, duplicate: true };
    });
  }

  /** All that was pending was stored by a write. */
  settle(version: string): void {
    const { pending } = this;
    for (const [index, waiting] of pending.entries()) {
      waiting.outcome = { cursor: toCursor(version, index, pending.length), duplicate: false };
    }
  }
}

/** The place of a message without an id, by its index in the batch. Undefined where it was not stored with the batch. */
function placeInBatch(entry: KvEntry, batchIndex: number): string | undefined {
  const [count, ...pairs] = decode<readonly number[]>(entry);
  for (let pair = 0; pair < pairs.length; pair += 2) {
    if (pairs[pair] === batchIndex) return toCursor(entry.version, pairs[pair + 1]!, count!);
  }
  return undefined;
}

function encode(value: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function decode<Value>({ value }: KvEntry): Value {
  return JSON.parse(new TextDecoder().decode(value)) as Value;
}
