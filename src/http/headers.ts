/** Values of headers: dates, tokens, quoted strings, and idempotency keys. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;

/** The preferred form, and the two obsolete ones that recipients must accept. */
const FORMS: readonly RegExp[] = [
  String.raw`[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${TIME} GMT`,
  String.raw`[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${TIME} GMT`,
  String.raw`[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[\d ]\d) ${TIME} (?<year>\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * In milliseconds (RFC 9110, section 5.6.7). `Date.parse` accepts other forms, some as local time.
 */
export function readHttpDate(text: string, now: number = Date.now()): number | undefined {
  for (const form of FORMS) {
    const { groups } = form.exec(text) ?? {};
    if (!groups) continue;
    const month = MONTHS.indexOf(groups.month!);
    const [day, hour, minute, second] = [groups.day, groups.hour, groups.minute, groups.second].map(Number) as Parts;
    const midnight = Date.UTC(fullYear(groups.year!, now), month, day);
    const isReal = month >= 0 && new Date(midnight).getUTCDate() === day && hour < 24 && minute < 60 && second <= 60;
    return isReal ? midnight + ((hour * 60 + minute) * 60 + second) * 1000 : undefined;
  }
  return undefined;
}

type Parts = [day: number, hour: number, minute: number, second: number];

/** A two-digit year more than 50 years ahead is in the past century. */
function fullYear(year: string, now: number): number {
  if (year.length === 4) return Number(year);
  const present = new Date(now).getUTCFullYear();
  const full = present - present % 100 + Number(year);
  return full > present + 50 ? full - 100 : full;
}

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/** RFC 9110, section 5.6.2: the names of headers and cookies. */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** RFC 9110, section 5.6.4. */
export function quotedString(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

const MAX_LENGTH = 255;

/** A string of a structured field (RFC 9651, section 3.3.3). */
const STRING = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

const BARE = /^[\x21\x23-\x7e][\x21-\x7e]*$/;

/**
 * The `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): null if missing, undefined if
 * malformed. `"a"` in quotes and `a` are the same key.
 */
export function idempotencyKeyOf(headers: Headers): string | null | undefined {
  const header = headers.get("idempotency-key");
  if (header === null) return null;
  const text = header.trim();
  const key = STRING.exec(text)?.[1]?.replace(/\\(.)/g, "$1") ?? (BARE.test(text) ? text : "");
  return key !== "" && key.length <= MAX_LENGTH ? key : undefined;
}
