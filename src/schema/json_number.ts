/**
 * Finds the numbers of a JSON body that no double can hold. `JSON.parse` makes infinities of them,
 * which no schema tells from numbers, and which would be sent back as null.
 */
import type { Issue } from "../errors.ts";
import { isExplainable } from "./run_config.ts";

const LARGE_EXPONENT = /[eE]\+?\d{3}/;
/** Fewer digits make no such number, with an exponent of two digits neither. */
const MANY_DIGITS = 200;

/**
 * Finds the numbers that are too large: all of them where the value is small, else the first one.
 *
 * @param text The body.
 * @param value What it was parsed to.
 * @throws {RangeError} When the value is nested more deeply than the stack holds.
 */
export function findOverflows(text: string, value: unknown): Issue[] {
  // A search of the text takes a fraction of the time to parse it, a visit of each value as long
  // again.
  if (!LARGE_EXPONENT.test(text) && !hasManyDigits(text)) return [];
  const issues: Issue[] = [];
  // One path for the whole walk: a copy for each value would cost the depth each time.
  const path: (string | number)[] = [];
  let stopsAtFirst: boolean | undefined;
  /** Returns true when the search is over. */
  const visit = (part: unknown): boolean => {
    if (part === Infinity || part === -Infinity) {
      issues.push(overflowAt(path));
      return stopsAtFirst ??= !isExplainable(value);
    }
    if (typeof part !== "object" || part === null) return false;
    if (Array.isArray(part)) {
      for (let index = 0; index < part.length; index++) {
        path.push(index);
        if (visit(part[index])) return true;
        path.pop();
      }
      return false;
    }
    for (const key of Object.keys(part)) {
      path.push(key);
      if (visit((part as Record<string, unknown>)[key])) return true;
      path.pop();
    }
    return false;
  };
  visit(value);
  return issues;
}

function overflowAt(path: readonly (string | number)[]): Issue {
  const message = "Invalid number: too large";
  return { in: "body", path: [...path], code: "invalid", message, expected: "a finite number" };
}

/**
 * Whether there may be so many digits in a row; one of them stands at a multiple of their number.
 */
function hasManyDigits(text: string): boolean {
  for (let index = MANY_DIGITS; index < text.length; index += MANY_DIGITS) {
    const code = text.charCodeAt(index);
    const isDigit = code >= 0x30 && code <= 0x39;
    if (isDigit && /\d{200}/.test(text.slice(index - MANY_DIGITS, index + MANY_DIGITS))) return true;
  }
  return false;
}
