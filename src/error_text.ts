/**
 * What was thrown, as a text of limited size. It may be no error, and may throw again when it is
 * looked at.
 */

/** The most bytes of the text of an error that is kept for operators. */
export const MAX_ERROR_BYTES = 1024;

const encoder = new TextEncoder();

/** The text of a thrown value, cut off after so many bytes of UTF-8. */
export function errorText(thrown: unknown, maxBytes: number = MAX_ERROR_BYTES): string {
  return cutText(describe(thrown).toWellFormed(), maxBytes);
}

/** The beginning of a text that has at most so many bytes in UTF-8. */
function cutText(text: string, maxBytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || String(thrown.name);
    // The text of a plain object would be "[object Object]".
    const isObject = typeof thrown === "object" && thrown !== null;
    return isObject ? Deno.inspect(thrown, { colors: false, depth: 1, breakLength: 500 }) : String(thrown);
  } catch {
    return "a value that cannot be described";
  }
}
