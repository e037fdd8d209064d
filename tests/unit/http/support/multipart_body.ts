// Multipart bodies written by hand, byte by byte.

import { Buffer } from "node:buffer";

/** The boundary of all of them. */
export const BOUNDARY = "boundary";

/** One character for each byte, so that non-ASCII bytes pass unchanged. */
export function latin1(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/** The text that `latin1` makes bytes of. */
export function fromLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** The bytes of a text in UTF-8, as one character each. */
export function utf8(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** A body of parts, each of which has its headers, an empty line and its content. */
export function bodyOf(...parts: readonly string[]): string {
  return parts.map((part) => `--${BOUNDARY}\r\n${part}\r\n`).join("") + `--${BOUNDARY}--\r\n`;
}

/** A part with text. */
export function field(name: string, value: string): string {
  return `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`;
}

/** A part that is a file. */
export function file(name: string, fileName: string, content: string, type = "text/plain"): string {
  return `Content-Disposition: form-data; name="${name}"; filename="${fileName}"\r\nContent-Type: ${type}\r\n\r\n${content}`;
}

/** A stream of bytes in these chunks. */
export function streamOf(chunks: readonly Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(chunks.filter((chunk) => chunk.length > 0));
}
