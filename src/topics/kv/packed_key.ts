/**
 * Keys as bytes, in the tuple layer's order as databases of Deno KV keep them: each part is the mark of a text, the text in UTF-8 with
 * a zero byte written as 00 ff, and a zero byte.
 */
import type { KvKey } from "./engine.ts";

const TEXT = 0x02;
const END = 0x00;
/** Comes after a zero byte that does not end its part. */
const ESCAPE = 0xff;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Writes a key. */
export function packKey(key: KvKey): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const part of key) size += part.length + 2;
  const bytes = new Uint8Array(size);
  let position = 0;
  for (const part of key) {
    bytes[position++] = TEXT;
    for (let index = 0; index < part.length; index++) {
      const unit = part.charCodeAt(index);
      if (unit === END || unit > 0x7f) return packAnyKey(key);
      bytes[position++] = unit;
    }
    bytes[position++] = END;
  }
  return bytes;
}

/** Writes a key that has more than the characters of ASCII. */
function packAnyKey(key: KvKey): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  for (const part of key) {
    bytes.push(TEXT);
    for (const byte of encoder.encode(part)) {
      bytes.push(byte);
      if (byte === END) bytes.push(ESCAPE);
    }
    bytes.push(END);
  }
  return new Uint8Array(bytes);
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
    key.push(decoder.decode(new Uint8Array(part)));
  }
  return key;
}
