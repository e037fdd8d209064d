/**
 * A frame: the messages of one write as one value, since of a write one key alone can end with its version.
 *
 * In bytes: the format (1), the time in milliseconds (8, a float), the number of messages (2), of each message the length of its
 * type (2) and of its data (4), then all types and data in UTF-8. Numbers are big-endian.
 */
import { countBytes } from "../data.ts";
import type { NewMessage } from "../store.ts";

const FORMAT = 1;
const HEADER_BYTES = 11;
const ENTRY_BYTES = 6;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A message of a frame. */
export type FrameMessage = Pick<NewMessage, "type" | "data" | "bytes">;

/** What a frame holds. */
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
