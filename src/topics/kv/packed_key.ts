/**
 * Keys as bytes, in the tuple layer's order as databases of Deno KV keep them: each part is the mark of a text, the text in UTF-8 with
 * a zero byte written as 00 ff, and a zero byte.
 */
import { countBytes } from "../message.ts";
import type { KvKey } from "./engine.ts";
import { MessageWriter } from "./protobuf.ts";

const TEXT = 0x02;
const END = 0x00;
/** Comes after a zero byte that does not end its part. */
const ESCAPE = 0xff;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Gives the bytes of a key. */
export function packKey(key: KvKey): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter(key.reduce((room, part) => room + part.length + 2, 0));
  writeKey(writer, key);
  return writer.finish();
}

/** How many bytes a text takes in a key, where zero bytes are escaped. */
export function countKeyBytes(text: string): number {
  let bytes = countBytes(text);
  for (let index = text.indexOf("\0"); index >= 0; index = text.indexOf("\0", index + 1)) bytes++;
  return bytes;
}

/** Writes a key, from its end to its begin. */
export function writeKey(writer: MessageWriter, key: KvKey): void {
  for (let index = key.length - 1; index >= 0; index--) {
    writer.byte(END);
    writeText(writer, key[index]!);
    writer.byte(TEXT);
  }
}

function writeText(writer: MessageWriter, text: string): void {
  for (let index = text.length - 1; index >= 0; index--) {
    const unit = text.charCodeAt(index);
    if (unit === END || unit > 0x7f) return writeBytes(writer, encoder.encode(text.slice(0, index + 1)));
    writer.byte(unit);
  }
}

/** Writes a text that has more than the characters of ASCII. */
function writeBytes(writer: MessageWriter, bytes: Uint8Array): void {
  for (let index = bytes.length - 1; index >= 0; index--) {
    if (bytes[index] === END) writer.byte(ESCAPE);
    writer.byte(bytes[index]!);
  }
}

/** Reads a key; undefined where a part of it is no text. */
export function unpackKey(bytes: Uint8Array): KvKey | undefined {
  const key: string[] = [];
  for (let position = 0; position < bytes.length;) {
    if (bytes[position++] !== TEXT) return undefined;
    const part: number[] = [];
    for (;;) {
      const byte = bytes[position++];
      if (byte === undefined) return undefined;
      if (byte === END && bytes[position] !== ESCAPE) break;
      if (byte === END) position++;
      part.push(byte);
    }
    const isAscii = part.every((byte) => byte <= 0x7f);
    key.push(isAscii ? String.fromCharCode(...part) : decoder.decode(new Uint8Array(part)));
  }
  return key;
}
