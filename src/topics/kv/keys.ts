/**
 * The keys of the store, all under `webfw 1`, in their order:
 *
 * | key                   | value                                                                                      |
 * | --------------------- | ------------------------------------------------------------------------------------------ |
 * | epoch                 | the life of the database                                                                   |
 * | epoch life            | nothing; it is there in that life alone                                                    |
 * | id name id            | the message of an id                                                                       |
 * | log name version      | a frame: the messages of one write                                                         |
 * | log name head         | the life of the log then; its version is that of the newest frame                          |
 * | log name ids          | nothing; its version is that of the newest write with ids                                  |
 * | log name low          | the place of the newest message that was removed                                           |
 * | log name series key   | the messages without an id of that series' last batch; or that it must not bring any more  |
 * | log bell n            | the name of the log of this bell's share that was appended to last                         |
 * | policy name           | what the log keeps, for the trimmer                                                        |
 * | trimmer               | who removes what is no longer kept                                                         |
 *
 * A log's head and low come after its frames, so that one reading up to the end of a log finds them, too, as of the same moment.
 *
 * A database writes whole pages, each of which costs a write about 2 %. So what a write changes lies side by side: the end of its log,
 * the newest batch, and, for the last log, the bells.
 */
import type { Cursor, LogPolicy, NewMessage } from "../store.ts";
import type { KvKey } from "./engine.ts";
import { countBytes } from "../message.ts";

const ROOT = ["webfw", "1"] as const;

/** How many bells there are. With the epoch they are as many keys as can be watched at once. */
export const BELLS = 9;

/** The life of the database. */
export const EPOCH_KEY: KvKey = [...ROOT, "epoch"];
/** Who removes what is no longer kept. */
export const TRIMMER_KEY: KvKey = [...ROOT, "trimmer"];
/** Before the policies. */
export const POLICIES_START: KvKey = [...ROOT, "policy", ""];
/** After the policies. */
export const POLICIES_END: KvKey = [...ROOT, "policy "];

/** What is there in one life of the database alone. */
export function lifeKey(life: string): KvKey {
  return [...EPOCH_KEY, life];
}

/** A bell. */
export function bellKey(bell: number): KvKey {
  return [...ROOT, "log bell", `${bell}`];
}

/** What a log keeps. */
export function policyKey(name: string): KvKey {
  return [...ROOT, "policy", name];
}

/** What the frames of a log have in common. */
export function framesPrefix(name: string): KvKey {
  return [...ROOT, "log", name];
}

/** Where reading after a place begins: at its frame, or after it where the place is its end. */
export function frameKeyAfter(name: string, place: Cursor): KvKey {
  const version = place.slice(0, VERSION_LENGTH);
  return [...framesPrefix(name), place.endsWith(LAST_INDEX) ? `${version} ` : version];
}

/** The newest frame of a log. */
export function headKey(name: string): KvKey {
  return [...framesPrefix(name), "head"];
}

/** Where a log begins. */
export function lowKey(name: string): KvKey {
  return [...framesPrefix(name), "low"];
}

/** After all of a log. */
export function logEnd(name: string): KvKey {
  return [...framesPrefix(name), "low "];
}

/** The messages without an id of the last batch of a series. */
export function seriesKey(name: string, series: string): KvKey {
  return [...framesPrefix(name), "series", series];
}

/** The message of an id. */
export function idKey(name: string, id: string): KvKey {
  return [...ROOT, "id", name, id];
}

/** The newest write of a log that had ids. */
export function idsKey(name: string): KvKey {
  return [...framesPrefix(name), "ids"];
}

/** A version begins the place of each of its messages. */
export const VERSION_LENGTH = 20;
/** The index of the last message of a frame, however many there are: who has come there need not read the frame again. */
const LAST_INDEX = "ff";

/** The place of a message: the version of its frame, and its index there. */
export function toCursor(version: string, index: number, count: number): Cursor {
  return version + (index === count - 1 ? LAST_INDEX : index.toString(16).padStart(2, "0"));
}

/** The place of the last message of a frame. */
export function endOf(version: string): Cursor {
  return version + LAST_INDEX;
}

/** A number of 32 bits that is another one for about every text: FNV-1a, with the bits mixed as MurmurHash does. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** How many bytes a text takes in a key, where zero bytes are escaped. */
export function countKeyBytes(text: string): number {
  let bytes = countBytes(text);
  for (let index = text.indexOf("\0"); index >= 0; index = text.indexOf("\0", index + 1)) bytes++;
  return bytes;
}

/** Writes a policy. */
export function encodePolicy({ age, count, bytes, dedupe }: LogPolicy): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ age, count, bytes, dedupe }));
}

/** Reads a policy. */
export function decodePolicy(value: Uint8Array): LogPolicy {
  const { age, count, bytes, dedupe } = JSON.parse(new TextDecoder().decode(value)) as Record<string, number | null>;
  // JSON has null for Infinity.
  return { age: age ?? Infinity, count: count ?? Infinity, bytes: bytes ?? Infinity, dedupe: dedupe ?? Infinity };
}

const FORMAT = 1;
const HEADER_BYTES = 11;
const ENTRY_BYTES = 6;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A message of a frame. */
export type FrameMessage = Pick<NewMessage, "type" | "data" | "bytes">;

/**
 * A frame: the messages of one write as one value, since of a write one key alone can end with its version.
 *
 * In bytes: the format (1), the time in milliseconds (8, a float), the number of messages (2), of each message the length of its
 * type (2) and of its data (4), then all types and data in UTF-8. Numbers are big-endian.
 */
export interface Frame {
  /** When it was made, in milliseconds since 1970. */
  readonly time: number;
  /** At least one. */
  readonly messages: readonly FrameMessage[];
}

/** What a frame has. */
export interface FrameSize {
  /** When it was made, in milliseconds since 1970. */
  readonly time: number;
  /** How many messages. */
  readonly count: number;
  /** The bytes of their data. */
  readonly bytes: number;
}

/**
 * Writes a frame.
 *
 * @throws {TypeError} When a message has more bytes than it says.
 */
export function encodeFrame({ time, messages }: Frame): Uint8Array<ArrayBuffer> {
  let text = HEADER_BYTES + ENTRY_BYTES * messages.length;
  const size = messages.reduce(
    (sum, { type, bytes }) => sum + bytes + (type === undefined ? 0 : countBytes(type)),
    text,
  );
  const frame = new Uint8Array(size);
  const view = new DataView(frame.buffer);
  view.setUint8(0, FORMAT);
  view.setFloat64(1, time);
  view.setUint16(9, messages.length);
  const put = (part: string): number => {
    const { read, written } = encoder.encodeInto(part, frame.subarray(text));
    if (read < part.length) throw new TypeError("Cannot store a message: it has more bytes than it was said to have");
    text += written;
    return written;
  };
  for (const [index, { type, data }] of messages.entries()) {
    const entry = HEADER_BYTES + ENTRY_BYTES * index;
    view.setUint16(entry, type === undefined ? 0 : put(type));
    view.setUint32(entry + 2, put(data));
  }
  return frame;
}

/**
 * Reads a frame.
 *
 * @throws {TypeError} When a later version of the framework has written it.
 */
export function decodeFrame(bytes: Uint8Array): Frame {
  const { view, time, count } = readHeader(bytes);
  let text = HEADER_BYTES + ENTRY_BYTES * count;
  const take = (length: number) => decoder.decode(bytes.subarray(text, text += length));
  const messages = Array.from({ length: count }, (_, index): FrameMessage => {
    const entry = HEADER_BYTES + ENTRY_BYTES * index;
    const type = take(view.getUint16(entry));
    const length = view.getUint32(entry + 2);
    return { type: type === "" ? undefined : type, data: take(length), bytes: length };
  });
  return { time, messages };
}

/** The time, the number of messages and the bytes of data of a frame, read without its texts. */
export function measureFrame(bytes: Uint8Array): FrameSize {
  const { view, time, count } = readHeader(bytes);
  let sum = 0;
  for (let index = 0; index < count; index++) sum += view.getUint32(HEADER_BYTES + ENTRY_BYTES * index + 2);
  return { time, count, bytes: sum };
}

function readHeader(bytes: Uint8Array): { view: DataView; time: number; count: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint8(0) !== FORMAT) {
    throw new TypeError("Cannot read the store of topics: a later version of webfw has written it, use that one");
  }
  return { view, time: view.getFloat64(1), count: view.getUint16(9) };
}
