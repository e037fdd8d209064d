/** A comparison that does not tell an attacker how much of a secret was right. */
import { quote } from "../base/options.ts";
import { nodeCrypto } from "../base/runtime.ts";

/**
 * Compares two secrets in constant time. `===` stops at the first difference, so its time tells an
 * attacker how much of a guess was right.
 *
 * The SHA-256 hashes of both are compared, so the time does not depend on where they differ, and
 * they can have different lengths. It grows with the length of each.
 *
 * @param given What the client sent. A text is compared by its UTF-8.
 * @param expected The secret.
 * @throws {TypeError} If a value is neither a text nor bytes.
 *
 * @example A token from the environment
 * ```ts
 * import { equal } from "@webfw/core/auth";
 * import { assert, assertFalse } from "@std/assert";
 *
 * const secret = "0b72d3c1";
 * assert(equal("0b72d3c1", secret));
 * assertFalse(equal("0b72d3c2", secret));
 * assertFalse(equal("0b7", secret));
 * ```
 *
 * @category Dependencies
 */
export function equal(given: string | Uint8Array, expected: string | Uint8Array): boolean {
  return nodeCrypto().timingSafeEqual(digest(given), digest(expected));
}

function digest(value: string | Uint8Array): Uint8Array {
  if (typeof value !== "string" && !(value instanceof Uint8Array)) {
    throw new TypeError(`Cannot compare the secrets: both must be a text or bytes, got ${quote(value)}`);
  }
  return nodeCrypto().createHash("sha256").update(value).digest();
}
