/**
 * The layout of the database. All keys begin with `webfw 1`; in their order they are:
 *
 * | key                | value                                                              |
 * | ------------------ | ------------------------------------------------------------------ |
 * | epoch              | the id of the database's incarnation                               |
 * | epoch id           | its fencing token: empty, and there while the incarnation lasts    |
 * | id name id         | dedup entry of a message with an id                                |
 * | log name version   | a stored batch: the messages of one write                          |
 * | log name head      | the log's incarnation; its version is that of the newest batch     |
 * | log name ids       | empty; its version is that of the newest write with ids            |
 * | log name low       | the low watermark: the cursor of the newest removed message        |
 * | log name series id | dedup entry of a session: its last batch, or that it was fenced    |
 * | log changed shard  | the name of the log of this shard that was appended to last        |
 * | policy name        | the retention of the log, and its dedupe                           |
 * | record key…        | the value of a record, and when it expires                         |
 * | trimmer            | the lease of the process that applies retention                    |
 *
 * The head and the low watermark of a log follow its batches, so that one read up to the end of the
 * log includes both, as of the same moment.
 *
 * SQLite writes whole pages, and each page costs a write about 2 %. So the keys that one write sets
 * are neighbours.
 */
import { countBytes } from "../../base/json_data.ts";
import type { Cursor, NewMessage } from "../topic_store.ts";
import type { KvKey } from "./engine.ts";

const ROOT = ["webfw", "1"];

export const INCARNATION_KEY: KvKey = [...ROOT, "epoch"];
export const LEASE_KEY: KvKey = [...ROOT, "trimmer"];
const RECORD: KvKey = [...ROOT, "record"];
export const POLICIES_START: KvKey = [...ROOT, "policy", ""];
export const POLICIES_END: KvKey = [...ROOT, "policy "];

/**
 * Each append writes the entry of its log's shard. Nine shards and the incarnation are as many keys
 * as a watch may have. With one entry, 200 watched logs waited up to 2 s while others were busy:
 * each change hides the one before.
 */
export const CHANGE_SHARDS = 9;

export function shardOf(name: string): number {
  return hashOf(name) % CHANGE_SHARDS;
}

export const fencingTokenKey = (incarnation: string): KvKey => [...INCARNATION_KEY, incarnation];
export const changedKey = (shard: number): KvKey => [...ROOT, "log changed", `${shard}`];
export const policyKey = (name: string): KvKey => [...ROOT, "policy", name];
export const idKey = (name: string, id: string): KvKey => [...ROOT, "id", name, id];
export const batchesPrefix = (name: string): KvKey => [...ROOT, "log", name];
export const headKey = (name: string): KvKey => [...batchesPrefix(name), "head"];
export const newestIdsKey = (name: string): KvKey => [...batchesPrefix(name), "ids"];
export const lowWatermarkKey = (name: string): KvKey => [...batchesPrefix(name), "low"];
export const sessionKey = (name: string, session: string): KvKey => [...batchesPrefix(name), "series", session];
/** After the batches, the head and the low watermark of a log. */
export const logEnd = (name: string): KvKey => [...batchesPrefix(name), "low "];

export const recordKey = (key: readonly string[]): KvKey => [...RECORD, ...key];
export const keyOfRecord = (key: KvKey): readonly string[] => key.slice(RECORD.length);

/** A read begins at the batch of the cursor, or after it if its last message was read. */
export function batchKeyAfter(name: string, cursor: Cursor): KvKey {
  const version = cursor.slice(0, VERSION_LENGTH);
  return [...batchesPrefix(name), cursor.endsWith(LAST_INDEX) ? `${version} ` : version];
}

/** A cursor begins with the version of its batch. */
export const VERSION_LENGTH = 20;
/** The index of the last message of each batch: a reader after it need not read the batch again. */
const LAST_INDEX = "ff";

export function toCursor(version: string, index: number, count: number): Cursor {
  return version + (index === count - 1 ? LAST_INDEX : index.toString(16).padStart(2, "0"));
}

export function endOf(version: string): Cursor {
  return version + LAST_INDEX;
}

/** A hash of 32 bits: FNV-1a, and the final mix of MurmurHash3. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const FORMAT = 1;
const HEADER_BYTES = 11;
const ENTRY_BYTES = 6;
/** The kind of what follows the strings. Older versions of the framework read nothing there. */
const TRACES = 1;
/** The trace (16 bytes), the span (8) and the flags (1); zeros for none. */
const TRACE_BYTES = 25;
/** The limit of Deno KV. */
const MAX_VALUE_BYTES = 64 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export type BatchMessage = Pick<NewMessage, "type" | "data" | "bytes" | "trace">;

/**
 * The messages of one write as one value: only one key of a write can end with its version.
 *
 * The value has the format (1 byte), the time in milliseconds (8, a float) and the number of
 * messages (2); of each message the length of its type (2) and of its data (4); then all types and
 * data in UTF-8. Numbers are big-endian. With OpenTelemetry, the traces of the messages follow if
 * the value has room.
 */
export interface StoredBatch {
  readonly time: number;
  readonly messages: readonly BatchMessage[];
}

export interface BatchSize {
  readonly time: number;
  readonly count: number;
  /** The size of the data. */
  readonly bytes: number;
}

/** @throws {TypeError} If a message has more bytes than it says. */
export function encodeBatch({ time, messages }: StoredBatch): Uint8Array<ArrayBuffer> {
  let text = HEADER_BYTES + ENTRY_BYTES * messages.length;
  const size = messages.reduce(
    (sum, { type, bytes }) => sum + bytes + (type === undefined ? 0 : countBytes(type)),
    text,
  );
  const traces = messages.some(({ trace }) => trace !== undefined) ? 1 + TRACE_BYTES * messages.length : 0;
  const value = new Uint8Array(size + traces <= MAX_VALUE_BYTES ? size + traces : size);
  const view = new DataView(value.buffer);
  view.setUint8(0, FORMAT);
  view.setFloat64(1, time);
  view.setUint16(9, messages.length);
  const put = (part: string): number => {
    const { read, written } = encoder.encodeInto(part, value.subarray(text));
    if (read < part.length) throw new TypeError("Cannot store a message: it has more bytes than it was said to have");
    text += written;
    return written;
  };
  for (const [index, { type, data }] of messages.entries()) {
    const entry = HEADER_BYTES + ENTRY_BYTES * index;
    view.setUint16(entry, type === undefined ? 0 : put(type));
    view.setUint32(entry + 2, put(data));
  }
  if (value.length > size) putTraces(value.subarray(size), messages);
  return value;
}

/** @throws {TypeError} If a later version of the framework has written it. */
export function decodeBatch(bytes: Uint8Array): StoredBatch {
  const { view, time, count } = readHeader(bytes);
  let text = HEADER_BYTES + ENTRY_BYTES * count;
  const take = (length: number) => decoder.decode(bytes.subarray(text, text += length));
  const messages = Array.from({ length: count }, (_, index): BatchMessage => {
    const entry = HEADER_BYTES + ENTRY_BYTES * index;
    const type = take(view.getUint16(entry));
    const length = view.getUint32(entry + 2);
    return { type: type === "" ? undefined : type, data: take(length), bytes: length };
  });
  return { time, messages: text < bytes.length ? withTraces(messages, bytes.subarray(text)) : messages };
}

function putTraces(part: Uint8Array, messages: readonly BatchMessage[]): void {
  part[0] = TRACES;
  for (const [index, { trace }] of messages.entries()) {
    if (trace !== undefined) part.subarray(1 + TRACE_BYTES * index).setFromHex(trace.slice(3).replaceAll("-", ""));
  }
}

/** A later version may have written more, or something else. */
function withTraces(messages: readonly BatchMessage[], part: Uint8Array): readonly BatchMessage[] {
  if (part[0] !== TRACES || part.length < 1 + TRACE_BYTES * messages.length) return messages;
  return messages.map((message, index) => {
    const start = 1 + TRACE_BYTES * index;
    const digits = part.subarray(start, start + TRACE_BYTES).toHex();
    if (/^0+$/.test(digits)) return message;
    return { ...message, trace: `00-${digits.slice(0, 32)}-${digits.slice(32, 48)}-${digits.slice(48)}` };
  });
}

export function measureBatch(bytes: Uint8Array): BatchSize {
  const { view, time, count } = readHeader(bytes);
  let sum = 0;
  for (let index = 0; index < count; index++) sum += view.getUint32(HEADER_BYTES + ENTRY_BYTES * index + 2);
  return { time, count, bytes: sum };
}

function readHeader(bytes: Uint8Array): { view: DataView; time: number; count: number } {
  const view = viewOf(bytes);
  return { view, time: view.getFloat64(1), count: view.getUint16(9) };
}

function viewOf(bytes: Uint8Array): DataView {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint8(0) === FORMAT) return view;
  throw new TypeError("Cannot read the store of topics: a later version of webfw has written it, use that one");
}

export interface RecordValue {
  readonly value: string;
  /** In milliseconds since 1970; `Infinity` for never. */
  readonly expires: number;
}

/** The format (1 byte), and when the record expires (8, a float). The rest is the JSON. */
const VALUE_HEADER_BYTES = 9;

export function encodeValue(value: string, expires: number): Uint8Array<ArrayBuffer> {
  const json = encoder.encode(value);
  const bytes = new Uint8Array(VALUE_HEADER_BYTES + json.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, FORMAT);
  view.setFloat64(1, expires);
  bytes.set(json, VALUE_HEADER_BYTES);
  return bytes;
}

/** @throws {TypeError} If a later version of the framework has written it. */
export function decodeValue(bytes: Uint8Array): RecordValue {
  const view = viewOf(bytes);
  return { expires: view.getFloat64(1), value: decoder.decode(bytes.subarray(VALUE_HEADER_BYTES)) };
}
