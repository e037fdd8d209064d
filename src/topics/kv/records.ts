/** What is remembered of messages, so that one that is published again is found. */
import type { AppendOutcome, Cursor } from "../store.ts";
import type { Batch, Pending } from "./batch.ts";
import { KEYS_PER_READ, type KvEngine, type KvEntry } from "./engine.ts";
import { batchKey, EPOCH_KEY, idKey, idsKey, toCursor } from "./keys.ts";

/** What is remembered of an id: the batch that brought it, the index of its message in the frame, and how many that has. */
type IdRecord = readonly [key: string, index: number, count: number];

/**
 * What is remembered of a batch: how many messages its frame has, then of each message without an id its index in the batch and that in
 * the frame. Nothing, where these must not be stored by the batch's key any more.
 */
type BatchRecord = readonly number[];

/** Writes what is remembered of an id. */
export function encodeId(...record: IdRecord): Uint8Array {
  return encode(record);
}

/** Writes what is remembered of a batch. */
export function encodeBatch(record: BatchRecord): Uint8Array {
  return encode(record);
}

/** Reads where the message of an index in a batch is. Undefined where it was not stored by the batch's key. */
export function placeInBatch(entry: KvEntry, batchIndex: number): Cursor | undefined {
  const [count, ...pairs] = decode<BatchRecord>(entry);
  for (let pair = 0; pair < pairs.length; pair += 2) {
    if (pairs[pair] === batchIndex) return toCursor(entry.version, pairs[pair + 1]!, count!);
  }
  return undefined;
}

/** What is remembered of a batch as a whole, and the life of the database. */
export interface BatchState {
  /** The life of the database. */
  readonly life: KvEntry | undefined;
  /** The version of what is remembered of the batch; null where nothing is. */
  readonly version: string | null;
}

/** Looks whether messages without an id are stored already, and notes it in the batch. */
export async function findBatch(batch: Batch, engine: KvEngine): Promise<BatchState> {
  const [life, stored] = await engine.get([EPOCH_KEY, batchKey(batch.log.name, batch.key)]);
  for (const waiting of stored ? batch.pending : []) {
    if (batch.idOf(waiting) !== undefined) continue;
    const cursor = placeInBatch(stored!, waiting.index);
    if (cursor !== undefined) waiting.outcome = { cursor, duplicate: false };
    // Somebody has published one of them again, and made sure that the batch's key brings none.
    else batch.split();
  }
  return { life, version: stored?.version ?? null };
}

/**
 * Looks which messages are stored already, by their ids, and notes it in them.
 *
 * @param batch The batch.
 * @param sought Messages of it that have ids.
 * @param engine The database.
 * @param newest The version of the newest write with ids, where that is known before; it is read otherwise.
 * @returns That version as of when all were read; undefined where it changed meanwhile.
 */
export async function findIds(
  batch: Batch,
  sought: readonly Pending[],
  engine: KvEngine,
  newest: string | undefined,
): Promise<string | null | undefined> {
  const { log: { name }, key } = batch;
  const guard = newest === undefined ? [idsKey(name)] : [];
  const perRead = KEYS_PER_READ - guard.length;
  const versions = new Set<string | null>(newest === undefined ? [] : [newest]);
  const find = async (some: readonly Pending[]): Promise<void> => {
    const keys = some.map((pending) => idKey(name, batch.idOf(pending)!));
    const entries = await engine.get([...keys, ...guard]);
    for (const [index, pending] of some.entries()) {
      const entry = entries[index];
      if (entry) pending.outcome = decodeId(entry, key);
    }
    if (guard.length > 0) versions.add(entries[some.length]?.version ?? null);
  };
  const reads = Math.max(1, Math.ceil(sought.length / perRead));
  await Promise.all(
    Array.from({ length: reads }, (_, read) => find(sought.slice(read * perRead, (read + 1) * perRead))),
  );
  const [version] = versions;
  return versions.size === 1 ? version : undefined;
}

/** Reads what became of the message of an id, for the batch that looks for it. */
function decodeId(entry: KvEntry, batchKey: string): AppendOutcome {
  const [key, index, count] = decode<IdRecord>(entry);
  // Where an earlier attempt of the same append has stored it, it is no duplicate.
  return { cursor: toCursor(entry.version, index, count), duplicate: key !== batchKey };
}

function encode(value: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function decode<Value>({ value }: KvEntry): Value {
  return JSON.parse(new TextDecoder().decode(value)) as Value;
}
