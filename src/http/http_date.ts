/**
 * Dates in headers (RFC 9110, section 5.6.7). `Date.parse` takes much more, and some as local time.
 */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;

/** The preferred form, and the two obsolete ones that recipients must accept. */
const FORMS: readonly RegExp[] = [
  String.raw`[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${TIME} GMT`,
  String.raw`[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${TIME} GMT`,
  String.raw`[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[\d ]\d) ${TIME} (?<year>\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * Reads a date of a header.
 *
 * @param text The value of the header.
 * @param now The present time in milliseconds.
 * @returns The time in milliseconds; undefined if it is no date of HTTP.
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

/** Two digits that would be more than 50 years ahead are of the century before. */
function fullYear(year: string, now: number): number {
  if (year.length === 4) return Number(year);
  const present = new Date(now).getUTCFullYear();
  const full = present - present % 100 + Number(year);
  return full > present + 50 ? full - 100 : full;
}
