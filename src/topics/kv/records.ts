/** What is remembered of messages, so that one that is published again is found. */
import type { AppendOutcome, Cursor } from "../store.ts";
import type { Batch } from "./batch.ts";
import type { KvEngine, KvEntry } from "./engine.ts";
import { batchKey, EPOCH_KEY, idKey, idsKey, toCursor } from "./keys.ts";

/** How many entries can be read at one moment. */
const KEYS_PER_READ = 10;

/** What is remembered of an id: the batch that brought it, the index of its message in the frame, and how many that has. */
type IdRecord = readonly [key: string, index: number, count: number];

/**
 * What is remembered of a batch: how many messages its frame has, then of each message without an id its index in the batch and that in
 * the frame. Nothing, where these must not be stored by the batch's key any more.
 */
type BatchRecord = readonly number[];

/** What a write checks to be as it was when it was looked which messages of its batch are stored. */
export interface Stamps {
  /** The version of what is remembered of the batch. */
  readonly batch: string | null;
  /** The version of the newest write with ids, as of when all ids were read. */
  readonly newest: string | null | undefined;
}

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

/** Looks which messages of a batch are stored already, and notes it in the batch. Gives the life of the database, too. */
export async function findStored(batch: Batch, engine: KvEngine): Promise<Stamps & { life: KvEntry | undefined }> {
  const { log: { name }, key } = batch;
  const named = batch.pending.filter((pending) => batch.idOf(pending) !== undefined);
  const keys = [EPOCH_KEY, batchKey(name, key), ...named.map((pending) => idKey(name, batch.idOf(pending)!))];
  const parts = Array.from({ length: Math.ceil(keys.length / (KEYS_PER_READ - 1)) }, (_, part) => {
    const first = part * (KEYS_PER_READ - 1);
    return engine.get([idsKey(name), ...keys.slice(first, first + KEYS_PER_READ - 1)]);
  });
  const found = await Promise.all(parts);
  const versions = found.map(([newest]) => newest?.version ?? null);
  const [life, stored, ...ids] = found.flatMap(([_, ...entries]) => entries);
  for (const [index, entry] of ids.entries()) {
    if (entry) named[index]!.outcome = decodeId(entry, key);
  }
  if (stored) {
    for (const waiting of batch.pending) {
      const cursor = batch.idOf(waiting) === undefined ? placeInBatch(stored, waiting.index) : undefined;
      if (cursor !== undefined) waiting.outcome = { cursor, duplicate: false };
    }
    // Whoever published one of them again has made sure that the batch's key brings none.
    if (batch.pending.some((pending) => batch.idOf(pending) === undefined)) batch.split();
  }
  return {
    life,
    batch: stored?.version ?? null,
    newest: versions.every((version) => version === versions[0]) ? versions[0] : undefined,
  };
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
