/**
 * What was thrown, as a text of limited size. It may be no error, and may throw again when it is
 * looked at.
 */

import { redactText } from "./redaction.ts";

/** The most bytes of the text of an error that is kept for operators. */
export const MAX_ERROR_BYTES = 1024;

const encoder = new TextEncoder();

/** The text of a thrown value, cut off after so many bytes of UTF-8. */
export function errorText(thrown: unknown, maxBytes: number = MAX_ERROR_BYTES): string {
  return cutText(redactText(describe(thrown)).toWellFormed(), maxBytes);
}

/** The beginning of a text that has at most so many bytes in UTF-8. */
function cutText(text: string, maxBytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || String(thrown.name);
    if (typeof thrown !== "object" || thrown === null) return String(thrown);
    const { message } = thrown as { message?: unknown };
    // The text of a plain object would be "[object Object]".
    return typeof message === "string" ? message : Deno.inspect(thrown, { colors: false, depth: 0 });
  } catch {
    return "a value that cannot be described";
  }
}
