/** The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). */

/** The most characters of a key. */
const MAX_LENGTH = 255;

/** A string of a structured field (RFC 9651, section 3.3.3). */
const STRING = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/** A key without quotes, as many clients send it. */
const BARE = /^[\x21\x23-\x7e][\x21-\x7e]*$/;

/**
 * The key of a request; null if there is none, undefined if it is malformed. `"a"` in quotes and
 * `a` without them are the same key.
 */
export function idempotencyKeyOf(headers: Headers): string | null | undefined {
  const header = headers.get("idempotency-key");
  if (header === null) return null;
  const text = header.trim();
  const key = STRING.exec(text)?.[1]?.replace(/\\(.)/g, "$1") ?? (BARE.test(text) ? text : "");
  return key !== "" && key.length <= MAX_LENGTH ? key : undefined;
}
