/**
 * A frame: the messages of one write as one value, since of a write one key alone can end with its version.
 *
 * In bytes: the format (1), the time in milliseconds (8, a float), the number of messages (2), of each message the length of its
 * type (2) and of its data (4), then all types and data in UTF-8. Numbers are big-endian.
 */
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

/** Writes a frame. */
export function encodeFrame({ time, messages }: Frame): Uint8Array<ArrayBuffer> {
  const texts = messages.map(({ type, data }) => ({ type: encoder.encode(type ?? ""), data: encoder.encode(data) }));
  const size = texts.reduce((sum, { type, data }) => sum + type.length + data.length, 0);
  const bytes = new Uint8Array(HEADER_BYTES + ENTRY_BYTES * messages.length + size);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, FORMAT);
  view.setFloat64(1, time);
  view.setUint16(9, messages.length);
  let text = HEADER_BYTES + ENTRY_BYTES * messages.length;
  for (const [index, { type, data }] of texts.entries()) {
    const entry = HEADER_BYTES + ENTRY_BYTES * index;
    view.setUint16(entry, type.length);
    view.setUint32(entry + 2, data.length);
    bytes.set(type, text);
    bytes.set(data, text + type.length);
    text += type.length + data.length;
  }
  return bytes;
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
export function measureFrame(bytes: Uint8Array): { time: number; count: number; bytes: number } {
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
