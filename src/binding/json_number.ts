/**
 * Finds the numbers of a JSON body that no double can hold. `JSON.parse` makes infinities of them, which no schema tells from
 * numbers, and which would be sent back as null.
 */
import type { Issue } from "../errors.ts";
import type { Detail } from "../schema/schema.ts";

const LARGE_EXPONENT = /[eE]\+?\d{3}/;
/** Fewer digits make no such number, with an exponent of two digits neither. */
const MANY_DIGITS = 200;

/**
 * Tells the numbers that are too large.
 *
 * @param text The body.
 * @param value What it was parsed to.
 * @param detail Whether all are told, or the first one.
 */
export function findOverflows(text: string, value: unknown, detail: Detail): Issue[] {
  const issues: Issue[] = [];
  // A look at the text takes a fraction of the time to parse it, a look at each value as long again.
  if (LARGE_EXPONENT.test(text) || hasManyDigits(text)) addOverflows(value, [], issues);
  return detail === "all" ? issues : issues.slice(0, 1);
}

/** Whether there may be so many digits in a row; one of them stands at a multiple of their number. */
function hasManyDigits(text: string): boolean {
  for (let index = MANY_DIGITS; index < text.length; index += MANY_DIGITS) {
    const code = text.charCodeAt(index);
    const isDigit = code >= 0x30 && code <= 0x39;
    if (isDigit && /\d{200}/.test(text.slice(index - MANY_DIGITS, index + MANY_DIGITS))) return true;
  }
  return false;
}

function addOverflows(value: unknown, path: readonly (string | number)[], issues: Issue[]): void {
  if (value === Infinity || value === -Infinity) {
    issues.push({ in: "body", path: [...path], message: "Invalid number: too large", expected: "a finite number" });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => addOverflows(item, [...path, index], issues));
  } else if (typeof value === "object" && value !== null) {
    for (const [key, part] of Object.entries(value)) addOverflows(part, [...path, key], issues);
  }
}
