/**
 * The messages of KV Connect, the protocol of databases of Deno KV on the network: `SnapshotRead`, `AtomicWrite` and `Watch` of
 * https://github.com/denoland/denokv/blob/main/proto/schema/datapath.proto, and their answers.
 */
import type { KvEntry, KvKey, KvWrite } from "./engine.ts";
import { packKey, unpackKey, writeKey } from "./packed_key.ts";
import { decodeMessage, encodeMessage, MessageWriter } from "./protobuf.ts";

/** `MutationType`. */
const SET = 1;
const DELETE = 2;
const SET_WITH_VERSION = 9;
/** `ValueEncoding`: bytes as they are. */
const BYTES = 3;
/** `SnapshotReadStatus`. */
const READ = 1;
const READ_DISABLED = 2;
/** `AtomicWriteStatus`. */
const WRITTEN = 1;
const CHECK_FAILED = 2;

const NO_VERSION = new Uint8Array();

/** A part of the keys, in their order. */
export interface ReadRange {
  /** The first key. */
  readonly from: Uint8Array;
  /** The key after the last one. */
  readonly to: Uint8Array;
  /** How many entries are read at most. */
  readonly limit: number;
}

/** The range of one key. */
export function toRange(key: KvKey): ReadRange {
  const from = packKey(key);
  const to = new Uint8Array(from.length + 1);
  to.set(from);
  return { from, to, limit: 1 };
}

/** Writes what is to be read. */
export function encodeRead(ranges: readonly ReadRange[]): Uint8Array<ArrayBuffer> {
  return encodeMessage(ranges.map(({ from, to, limit }) => [1, [[1, from], [2, to], [3, limit]]]));
}

/** Reads the entries of each range; undefined where the server may not give them, since another one has taken its place. */
export function decodeReadAnswer(bytes: Uint8Array): KvEntry[][] | undefined {
  const ranges: KvEntry[][] = [];
  let isDisabled = false;
  let isConsistent = false;
  for (const [number, value] of decodeMessage(bytes)) {
    if (number === 1) ranges.push(decodeRange(toBytes(value)));
    else if (number === 2) isDisabled ||= value === 1;
    else if (number === 4) isConsistent = value === 1;
    else if (number === 8) isDisabled ||= value === READ_DISABLED;
  }
  return isConsistent && !isDisabled ? ranges : undefined;
}

/**
 * Writes what is to be written: from its end to its begin, as messages are.
 *
 * @param write What is to be written.
 * @param now The time of the database, which lets go of entries by its own clock, in milliseconds since 1970.
 */
export function encodeWrite(
  { checks = [], sets = [], deletes = [], append }: KvWrite,
  now: number,
): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter();
  if (append) writeMutation(writer, SET_WITH_VERSION, append.prefix, append.value);
  for (const key of deletes.toReversed()) writeMutation(writer, DELETE, key);
  for (const { key, value, expireIn } of sets.toReversed()) {
    writeMutation(writer, SET, key, value, expireIn === undefined ? undefined : Math.ceil(now + expireIn));
  }
  for (const { key, version } of checks.toReversed()) {
    const end = writer.place;
    writer.bytes(2, version === null ? NO_VERSION : Uint8Array.fromHex(version));
    writeKeyField(writer, key);
    writer.wrap(1, end);
  }
  return writer.finish();
}

function writeMutation(writer: MessageWriter, type: number, key: KvKey, value?: Uint8Array, expiresAt?: number): void {
  const end = writer.place;
  if (expiresAt !== undefined) writer.number(4, expiresAt);
  writer.number(3, type);
  if (value) {
    const valueEnd = writer.place;
    writer.number(2, BYTES);
    writer.bytes(1, value);
    writer.wrap(2, valueEnd);
  }
  writeKeyField(writer, key);
  writer.wrap(2, end);
}

function writeKeyField(writer: MessageWriter, key: KvKey): void {
  const end = writer.place;
  writeKey(writer, key);
  writer.wrap(1, end);
}

/** What became of a write: its version, that a check did not hold, or that the server may not write, as another one has its place. */
export type WriteAnswer = { readonly version: string } | "check failed" | "refused";

/** Reads what became of a write. */
export function decodeWriteAnswer(bytes: Uint8Array): WriteAnswer {
  let status: unknown;
  let version = "";
  for (const [number, value] of decodeMessage(bytes)) {
    if (number === 1) status = value;
    else if (number === 2) version = toBytes(value).toHex();
  }
  if (status === CHECK_FAILED) return "check failed";
  return status === WRITTEN && version !== "" ? { version } : "refused";
}

/** Writes what is to be watched. */
export function encodeWatch(keys: readonly KvKey[]): Uint8Array<ArrayBuffer> {
  return encodeMessage(keys.map((key) => [1, [[1, packKey(key)]]]));
}

/** What a watch tells of a key. */
export interface WatchedKey {
  /** Whether its entry is another one than it was told to be before. */
  readonly hasChanged: boolean;
  /** Undefined where there is none. */
  readonly entry: KvEntry | undefined;
}

/** Reads what a watch tells of each key; undefined where the server may not tell, since another one has taken its place. */
export function decodeWatchAnswer(bytes: Uint8Array): WatchedKey[] | undefined {
  const keys: WatchedKey[] = [];
  for (const [number, value] of decodeMessage(bytes)) {
    if (number === 1 && value !== READ) return undefined;
    if (number === 2) keys.push(decodeWatchedKey(toBytes(value)));
  }
  return keys;
}

function decodeWatchedKey(bytes: Uint8Array): WatchedKey {
  let hasChanged = false;
  let entry: KvEntry | undefined;
  for (const [number, value] of decodeMessage(bytes)) {
    if (number === 1) hasChanged = value === 1;
    else if (number === 2) entry = decodeEntry(toBytes(value));
  }
  return { hasChanged, entry };
}

function decodeRange(bytes: Uint8Array): KvEntry[] {
  const entries: KvEntry[] = [];
  for (const [number, value] of decodeMessage(bytes)) {
    if (number === 1) entries.push(decodeEntry(toBytes(value)));
  }
  return entries;
}

function decodeEntry(bytes: Uint8Array): KvEntry {
  let [packed, data, version]: Uint8Array[] = [NO_VERSION, NO_VERSION, NO_VERSION];
  let encoding: unknown;
  for (const [number, value] of decodeMessage(bytes)) {
    if (number === 1) packed = toBytes(value);
    else if (number === 2) data = toBytes(value);
    else if (number === 3) encoding = value;
    else if (number === 4) version = toBytes(value);
  }
  const key = unpackKey(packed!);
  if (!key || encoding !== BYTES) {
    const name = key?.join(" ") ?? packed!.toHex();
    throw new TypeError(`Cannot read the store of topics: something else has written the key "${name}"`);
  }
  return { key, value: data!, version: version!.toHex() };
}

function toBytes(value: number | Uint8Array): Uint8Array {
  if (typeof value === "number") {
    throw new TypeError("Cannot read a message of the database: it has a number for bytes");
  }
  return value;
}
