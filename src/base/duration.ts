/** Durations in options, and the longest delay of a timer. */
import { quote } from "./options.ts";

/** The longest delay of a timer of the platform. A longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * A duration: milliseconds as a number, or a number with its unit, as in `"15s"`, `"2m"`, `"24h"`,
 * `"7d"`. It is rounded to whole milliseconds, at least one.
 *
 * @category Applications
 */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Converts a duration to milliseconds.
 *
 * @param duration The duration.
 * @param name The option, for the error message.
 * @throws {RangeError} If it is not a positive duration.
 */
export function toMilliseconds(duration: Duration, name: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration)) ?? [];
  const ms = typeof duration === "number" ? duration : Number(number) * (UNITS[unit ?? ""] ?? NaN);
  // Without rounding, 4.1 minutes are 245999.99999999997 milliseconds.
  if (ms > 0) return Math.max(1, Math.round(ms));
  throw new RangeError(
    `Cannot set ${name}: it must be milliseconds or a text such as "15s", above 0, got ${quote(duration)}`,
  );
}
