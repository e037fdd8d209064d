/** Text in UTF-8 from clients, which must not be changed silently. */

const lenient = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8 without a byte order mark; undefined if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  const text = lenient.decode(bytes);
  // The strict decoder has no fast path. It runs only if a character may be a replacement.
  if (!text.includes("\ufffd")) return text;
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}
