/** What is remembered of messages, so that one that is published again is found. */
import type { AppendOutcome, Cursor } from "../store.ts";
import type { Batch } from "./batch.ts";
import type { KvEntry } from "./engine.ts";
import { toCursor } from "./keys.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

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

/** Reads what became of the message of an id, for the batch that looks for it. */
export function outcomeOfId(entry: KvEntry, batch: Batch): AppendOutcome {
  const [series, first, index, count] = decode<IdRecord>(entry);
  // Where an earlier attempt of the same append has stored it, it is no duplicate.
  const isOwn = series === batch.series && first === batch.first;
  return { cursor: toCursor(entry.version, index, count), duplicate: !isOwn };
}

function encode(value: readonly unknown[]): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

function decode<Value>({ value }: KvEntry): Value {
  return JSON.parse(decoder.decode(value)) as Value;
}
