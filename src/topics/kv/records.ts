/** What is remembered of messages, so that one that is published again is found. */
import type { AppendOutcome, Cursor } from "../store.ts";
import type { Batch, Pending } from "./batch.ts";
import { KEYS_PER_READ, type KvEngine, type KvEntry } from "./engine.ts";
import { EPOCH_KEY, idKey, idsKey, seriesKey, toCursor } from "./keys.ts";

/**
 * What is remembered of an id: the series and the number of the first message of the batch that brought it, the index of its message in
 * the frame, and how many that has.
 */
type IdRecord = readonly [series: string, first: number, index: number, count: number];

/**
 * What is remembered of the last batch of a series: the number of its first message, how many messages its frame has, the version of
 * that, then of each message without an id its index in the batch and that in the frame. The version is null as long as it is that of
 * the entry; otherwise somebody has made sure that the series brings no messages after these.
 */
type BatchRecord = readonly [first: number, count: number, version: string | null, ...indexes: number[]];

/** Writes what is remembered of an id. */
export function encodeId(...record: IdRecord): Uint8Array {
  return encode(record);
}

/** Writes what is remembered of a batch. */
export function encodeBatch(first: number, count: number, indexes: readonly number[]): Uint8Array {
  const record: BatchRecord = [first, count, null, ...indexes];
  return encode(record);
}

/** Writes what is remembered of a series when it must not bring messages any more. */
export function encodeEnd(entry: KvEntry | undefined): Uint8Array {
  if (!entry) return encode([0, 0, ""] satisfies BatchRecord);
  const [first, count, , ...indexes] = decode<BatchRecord>(entry);
  return encode([first, count, entry.version, ...indexes] satisfies BatchRecord);
}

/**
 * Reads where the message of a number in a series is. Undefined where the series may bring it later; `"none"` where it cannot: it was in
 * an earlier batch, or the series must not bring any more.
 */
export function placeInSeries(entry: KvEntry, number: number): Cursor | "none" | undefined {
  const [first, count, version, ...indexes] = decode<BatchRecord>(entry);
  for (let pair = 0; pair < indexes.length; pair += 2) {
    if (first + indexes[pair]! === number) return toCursor(version ?? entry.version, indexes[pair + 1]!, count);
  }
  return number < first || version !== null ? "none" : undefined;
}

/** What is remembered of a series, and the life of the database. */
export interface BatchState {
  /** The life of the database. */
  readonly life: KvEntry | undefined;
  /** The version of what is remembered of the series; null where nothing is. */
  readonly version: string | null;
}

/** Looks whether messages without an id are stored already, and notes it in the batch. */
export async function findBatch(batch: Batch, engine: KvEngine): Promise<BatchState> {
  const [life, stored] = await engine.get([EPOCH_KEY, seriesKey(batch.log.name, batch.series)]);
  for (const waiting of stored ? batch.pending : []) {
    if (batch.idOf(waiting) !== undefined) continue;
    const place = placeInSeries(stored!, batch.first + waiting.index);
    // Somebody has published one of them again, and made sure that the series brings none.
    if (place === "none") batch.split();
    else if (place !== undefined) waiting.outcome = { cursor: place, duplicate: false };
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
  const { log: { name } } = batch;
  const guard = newest === undefined ? [idsKey(name)] : [];
  const perRead = KEYS_PER_READ - guard.length;
  const versions = new Set<string | null>(newest === undefined ? [] : [newest]);
  const find = async (some: readonly Pending[]): Promise<void> => {
    const keys = some.map((pending) => idKey(name, batch.idOf(pending)!));
    const entries = await engine.get([...keys, ...guard]);
    for (const [index, pending] of some.entries()) {
      const entry = entries[index];
      if (entry) pending.outcome = decodeId(entry, batch);
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
function decodeId(entry: KvEntry, batch: Batch): AppendOutcome {
  const [series, first, index, count] = decode<IdRecord>(entry);
  // Where an earlier attempt of the same append has stored it, it is no duplicate.
  const isOwn = series === batch.series && first === batch.first;
  return { cursor: toCursor(entry.version, index, count), duplicate: !isOwn };
}

function encode(value: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function decode<Value>({ value }: KvEntry): Value {
  return JSON.parse(new TextDecoder().decode(value)) as Value;
}
