/** Checks of options and durations, and the parts of their error messages. */

/** All names of a type of options, as the compiler checks. Messages list them in this order. */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>;

/**
 * Refuses unknown options, also inherited ones except names of `Object.prototype`. A known option
 * may be `undefined`, an unknown one may not. Symbols are ignored.
 *
 * @param action For messages: "run the App".
 * @param prefix Before each name in messages, such as `tool.`.
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
 * Like {@linkcode checkOptions}. Copies the known options that have a value, also inherited ones.
 */
export function readOptions<Options extends object>(
  options: Options,
  known: OptionNames<Options>,
  action: string,
  prefix = "",
): Options {
  checkOptions(options, known, action, prefix);
  return pickOptions<Options, keyof Options>(options, known);
}

/** Copies the known options that have a value, inherited ones too. */
export function pickOptions<Options extends object, Name extends keyof Options>(
  options: Options,
  known: Readonly<Record<Name, unknown>>,
): Pick<Options, Name> {
  const names = Object.keys(known) as Name[];
  const given = names.map((name) => [name, options[name]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Pick<Options, Name>;
}

/** For messages. Only strings are quoted: `"404"` and `404` differ. */
export function quote(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return (typeof value === "object" && value !== null) || typeof value === "function" ? typeof value : String(value);
}

/** Undefined if more than half of the word differs. */
export function near(word: string, candidates: readonly string[]): string | undefined {
  const found = nearest(word, candidates);
  return difference(word, found) <= word.length / 2 ? found : undefined;
}

/** The first of several that are equally near. */
export function nearest(word: string, candidates: readonly string[]): string {
  return candidates.reduce((best, candidate) =>
    difference(word, candidate) < difference(word, best) ? candidate : best
  );
}

/** Ignores case. Parts are the nearest: `host` and `hostname`. */
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

/** Timers fire at once after a longer delay. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * A duration: milliseconds, or a string such as `"15s"`, `"2m"`, `"24h"` or `"7d"`. Rounded to
 * whole milliseconds, at least one.
 *
 * @category Applications
 */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @throws {RangeError} If it is no positive duration. */
export function toMilliseconds(duration: Duration, name: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration)) ?? [];
  const ms = typeof duration === "number" ? duration : Number(number) * (UNITS[unit ?? ""] ?? NaN);
  // Without rounding, 4.1 minutes are 245999.99999999997 milliseconds.
  if (ms > 0) return Math.max(1, Math.round(ms));
  throw new RangeError(
    `Cannot set ${name}: it must be milliseconds or a string such as "15s", above 0, got ${quote(duration)}`,
  );
}
