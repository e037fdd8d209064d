/** Parses paths and queries without the rest of the URL, and urlencoded bodies. */
import { HTTPError } from "../base/errors.ts";
import type { FormEntry } from "../schema/form.ts";
import { tooManyFields } from "./body_errors.ts";

export type QueryValue = string | string[] | undefined;

/** The index of the first slash after the authority, or -1. */
export function pathStart(url: string): number {
  return url.indexOf("/", authorityStart(url));
}

/** It is smaller than the start when a query or fragment comes first: a target may have no path. */
export function pathEnd(url: string, start: number): number {
  const authority = authorityStart(url);
  const query = url.indexOf("?", authority);
  const hash = url.indexOf("#", authority);
  const end = query < 0 ? url.length : query;
  return start < 0 ? -1 : hash >= 0 && hash < end ? hash : end;
}

/** Without the question mark. */
export function queryText(url: string, pathEnd: number): string {
  if (url.charCodeAt(pathEnd) !== 63 /* ? */) return "";
  const hash = url.indexOf("#", pathEnd);
  return hash < 0 ? url.slice(pathEnd + 1) : url.slice(pathEnd + 1, hash);
}

/** Escapes of letters, digits, `-`, `.`, `_` and `~` (RFC 3986, section 2.3). */
const UNRESERVED = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;

/** The path is equivalent (RFC 3986, section 6.2.2.2), but code that compares it would miss it. */
export function resolveUnreserved(path: string): string {
  return path.replace(UNRESERVED, decodeURIComponent);
}

function authorityStart(url: string): number {
  const isHttp = url.charCodeAt(4) === 58; // http:
  return isHttp ? 7 : url.indexOf("://") + 3;
}

/**
 * Picks the declared keys out of a query in one pass; others take no memory. `slots` has the index
 * of each declared key in the result. Throws a 400 for too many keys, or a broken percent-encoding
 * of a declared value.
 */
export function pickQuery(
  text: string,
  slots: ReadonlyMap<string, number>,
  maxKeys: number,
  onOther?: (name: string) => void,
): QueryValue[] {
  const values: QueryValue[] = new Array(slots.size).fill(undefined);
  let keys = 0;
  // The next "=", of this pair or a later one. A search for each pair could scan the rest each
  // time.
  let equals = -1;
  for (let start = 0; start < text.length;) {
    const end = indexFrom(text, "&", start);
    if (end > start) {
      if (++keys > maxKeys) throw new HTTPError(400, `The query has more than ${maxKeys} keys`);
      if (equals < start) equals = indexFrom(text, "=", start);
      const keyEnd = Math.min(equals, end);
      const key = text.slice(start, keyEnd);
      // No declared key has a broken encoding.
      const name = decode(key) ?? key;
      const slot = slots.get(name);
      if (slot === undefined) onOther?.(name);
      else {
        const value = decode(text.slice(Math.min(keyEnd + 1, end), end));
        if (value === undefined) throw new HTTPError(400, "The query has a broken percent-encoding");
        add(values, slot, value);
      }
    }
    start = end + 1;
  }
  return values;
}

function add(values: QueryValue[], slot: number, value: string): void {
  const before = values[slot];
  if (before === undefined) values[slot] = value;
  else if (typeof before === "string") values[slot] = [before, value];
  else before.push(value);
}

/** Throws a 400 for a broken percent-encoding, a 413 for too many fields. */
export function parseUrlencoded(text: string, maxFields: number): FormEntry[] {
  const entries: FormEntry[] = [];
  for (let start = 0; start < text.length;) {
    const end = indexFrom(text, "&", start);
    if (end > start) entries.push(parsePair(text.slice(start, end)));
    if (entries.length > maxFields) throw tooManyFields(maxFields);
    start = end + 1;
  }
  return entries;
}

function parsePair(pair: string): FormEntry {
  const end = indexFrom(pair, "=", 0);
  const [name, value] = [decode(pair.slice(0, end)), decode(pair.slice(end + 1))];
  if (name === undefined || value === undefined) throw new HTTPError(400, "The form has a broken percent-encoding");
  return [name, value];
}

function indexFrom(text: string, character: string, start: number): number {
  const index = text.indexOf(character, start);
  return index < 0 ? text.length : index;
}

/** Undefined if the percent-encoding is broken. */
function decode(raw: string): string | undefined {
  if (!raw.includes("%") && !raw.includes("+")) return raw;
  try {
    return decodeURIComponent(raw.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
