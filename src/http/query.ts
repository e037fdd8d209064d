/** Reads the declared keys of a query string, in one pass and without a map of what a client chose. */
import { HTTPError } from "../errors.ts";

/** The values of one declared key: none, one, or all that were sent. */
export type QueryValue = string | string[] | undefined;

/**
 * Picks the declared keys out of a query string, by the rules of `application/x-www-form-urlencoded`.
 *
 * @param text The query string, without the question mark.
 * @param slots The place in the result of each key.
 * @param maxKeys The number of keys that is too many.
 * @throws {HTTPError} With 400, when there are too many keys or an escape of a declared key's value is broken.
 */
export function pickQuery(
  text: string,
  slots: ReadonlyMap<string, number>,
  maxKeys: number,
): QueryValue[] {
  const values: QueryValue[] = new Array(slots.size).fill(undefined);
  let keys = 0;
  // The next one, of this key or of one that follows: a search for each key could read all of the
  // rest.
  let equals = -1;
  for (let start = 0; start < text.length;) {
    const end = indexFrom(text, "&", start);
    if (end > start) {
      if (++keys > maxKeys) {
        throw new HTTPError(400, `The query has more than ${maxKeys} keys`);
      }
      if (equals < start) equals = indexFrom(text, "=", start);
      const keyEnd = Math.min(equals, end);
      const slot = slots.get(decodeKey(text.slice(start, keyEnd)));
      if (slot !== undefined) {
        add(
          values,
          slot,
          decodeValue(text.slice(Math.min(keyEnd + 1, end), end)),
        );
      }
    }
    start = end + 1;
  }
  return values;
}

/** The place of a character, or the end. */
function indexFrom(text: string, character: string, start: number): number {
  const index = text.indexOf(character, start);
  return index < 0 ? text.length : index;
}

function add(values: QueryValue[], slot: number, value: string): void {
  const before = values[slot];
  if (before === undefined) values[slot] = value;
  else if (typeof before === "string") values[slot] = [before, value];
  else before.push(value);
}

/** A name or value as it was meant; undefined where an escape is broken. */
export function decodePart(raw: string): string | undefined {
  if (!raw.includes("%") && !raw.includes("+")) return raw;
  try {
    return decodeURIComponent(raw.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** A key with a broken escape is none that anyone declared. */
function decodeKey(raw: string): string {
  return decodePart(raw) ?? raw;
}

function decodeValue(raw: string): string {
  const value = decodePart(raw);
  if (value === undefined) {
    throw new HTTPError(400, "The query has a broken percent-encoding");
  }
  return value;
}
