import { HTTPError } from "../errors.ts";

/** Finds the parts of a request's target in the text of its URL, which is never parsed for it. */

/** Where the path starts: at the first slash after the authority. Below 0 where there is none. */
export function pathStart(url: string): number {
  return url.indexOf("/", authorityStart(url));
}

/** Where the path ends. Below its start where a query or fragment comes before it: a server may be sent a target without a path. */
export function pathEnd(url: string, start: number): number {
  const authority = authorityStart(url);
  const query = url.indexOf("?", authority);
  const hash = url.indexOf("#", authority);
  const end = query < 0 ? url.length : query;
  return start < 0 ? -1 : hash >= 0 && hash < end ? hash : end;
}

/** The query, without the question mark, of a URL whose path ends there. */
export function queryText(url: string, pathEnd: number): string {
  if (url.charCodeAt(pathEnd) !== 63 /* ? */) return "";
  const hash = url.indexOf("#", pathEnd);
  return hash < 0 ? url.slice(pathEnd + 1) : url.slice(pathEnd + 1, hash);
}

function authorityStart(url: string): number {
  const isHttp = url.charCodeAt(4) === 58; // http:
  return isHttp ? 7 : url.indexOf("://") + 3;
}

/** Reads the declared keys of a query string, in one pass and without a map of what a client chose. */

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
