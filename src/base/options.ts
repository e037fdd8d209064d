/** Checks of options and durations, and the parts of their error messages. */

/** All names of an options type, as the compiler checks. Error messages list them in this order. */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>;

/**
 * Refuses unknown options, also inherited ones; the names of `Object.prototype` do not count. A
 * known option may be `undefined`, which means absent; an unknown option may not. Symbols are
 * ignored, because no option is named by one.
 *
 * @param action For the message: "run the App".
 * @param prefix Before each name in the message, such as `tool.`.
 * @throws {TypeError} If the value is no object, or has an unknown name.
 */
export function checkOptions<Options extends object>(
  options: Options,
  known: OptionNames<Options>,
  action: string,
  prefix = "",
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    const kind = options === null ? "null" : Array.isArray(options) ? "an array" : typeof options;
    const what = prefix === "" ? "the options" : `"${prefix.replace(/\.$/, "")}"`;
    throw new TypeError(
      `Cannot ${action}: ${what} must be an object, got ${kind}; there are ${Object.keys(known).join(", ")}`,
    );
  }
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue;
    if (name in Object.prototype && !Object.hasOwn(options, name)) continue;
    const names = Object.keys(known);
    throw new TypeError(
      `Cannot ${action}: the option "${prefix}${name}" is unknown, the nearest is "${prefix}${
        nearest(name, names)
      }"; there are ${names.join(", ")}`,
    );
  }
}

/**
 * Refuses unknown options like {@linkcode checkOptions}, and copies the known ones that have a
 * value, inherited ones too.
 *
 * @throws {TypeError} If the value is no object, or has an unknown name.
 */
export function readOptions<Options extends object>(
  options: Options,
  known: OptionNames<Options>,
  action: string,
  prefix = "",
): Options {
  checkOptions(options, known, action, prefix);
  const names = Object.keys(known) as (keyof Options)[];
  const given = names.map((name) => [name, options[name]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Options;
}

/** A value for an error message. Only strings are quoted: `got "404"` and `got 404` differ. */
export function quote(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return (typeof value === "object" && value !== null) || typeof value === "function" ? typeof value : String(value);
}

/** The nearest name to a misspelt one; undefined if more than half of it differs. */
export function near(word: string, candidates: readonly string[]): string | undefined {
  const found = nearest(word, candidates);
  return difference(word, found) <= word.length / 2 ? found : undefined;
}

/** The nearest name to a misspelt one; the first of several that are equally near. */
export function nearest(word: string, candidates: readonly string[]): string {
  return candidates.reduce((best, candidate) =>
    difference(word, candidate) < difference(word, best) ? candidate : best
  );
}

/**
 * Regardless of case. A name that is part of the other, as `host` of `hostname`, is the nearest.
 */
function difference(word: string, candidate: string): number {
  const [one, other] = [word.toLowerCase(), candidate.toLowerCase()];
  const isPart = Math.min(one.length, other.length) > 2 && (one.includes(other) || other.includes(one));
  return isPart ? levenshtein(one, other) / 1000 : levenshtein(one, other);
}

function levenshtein(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (const [column, other] of [...to].entries()) {
      next.push(Math.min(row[column + 1]! + 1, next[column]! + 1, row[column]! + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1)!;
}

/** The longest delay of a timer. A longer one fires at once. */
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
 * @param name The option, for the error message.
 * @throws {RangeError} If it is no positive duration.
 */
export function toMilliseconds(duration: Duration, name: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration)) ?? [];
  const ms = typeof duration === "number" ? duration : Number(number) * (UNITS[unit ?? ""] ?? NaN);
  // Without rounding, 4.1 minutes are 245999.99999999997 milliseconds.
  if (ms > 0) return Math.max(1, Math.round(ms));
  throw new RangeError(
    `Cannot set ${name}: it must be milliseconds or a string such as "15s", above 0, got ${quote(duration)}`,
  );
}
