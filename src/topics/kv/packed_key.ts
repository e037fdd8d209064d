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
  const bytes: number[] = [];
  for (const part of key) {
    bytes.push(TEXT);
    packText(part, bytes);
    bytes.push(END);
  }
  return new Uint8Array(bytes);
}

function packText(text: string, bytes: number[]): void {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) {
      // The rest is no ASCII; what is costs much less by itself than by an encoder.
      for (const byte of encoder.encode(text.slice(index))) pushEscaped(byte, bytes);
      return;
    }
    pushEscaped(unit, bytes);
  }
}

function pushEscaped(byte: number, bytes: number[]): void {
  bytes.push(byte);
  if (byte === END) bytes.push(ESCAPE);
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
