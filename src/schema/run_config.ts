/** How valibot is run: up to the first fault, or for every fault within bounds. */

/** What a schema is run with, in place of the application's global configuration of valibot. */
export interface RunConfig {
  readonly lang: undefined;
  readonly message: undefined;
  readonly abortEarly: boolean;
  readonly abortPipeEarly: undefined;
}

/** Makes valibot stop at the first fault. */
export function stoppingAtFirst(): RunConfig {
  return { lang: undefined, message: undefined, abortEarly: true, abortPipeEarly: undefined };
}

/**
 * valibot moves each fault through all levels above it: the work grows with the square of the
 * depth.
 */
const MAX_DEPTH = 32;
/**
 * In characters of JSON, roughly. A fault takes a hundred times the memory of the text that causes
 * it.
 */
const MAX_SIZE = 64 * 1024;
/**
 * How often valibot may ask whether to stop: once for a fault, and once for each level above it.
 * The options of a union can find the same faults again, so that they double with each level.
 */
const MAX_QUESTIONS = 10_000;

/** Whether a value is so small that all of its faults may be listed. */
export function isExplainable(value: unknown): boolean {
  let size = 0;
  const fits = (part: unknown, depth: number): boolean => {
    size += lengthOf(part);
    if (size > MAX_SIZE || depth > MAX_DEPTH) return false;
    if (typeof part !== "object" || part === null) return true;
    if (Array.isArray(part)) return part.every((item) => fits(item, depth + 1));
    // The names of a form lie in maps, which are no level of their own.
    const isMap = part instanceof Map;
    for (const [key, item] of isMap ? part : Object.entries(part)) {
      size += String(key).length + 3;
      if (!fits(item, isMap ? depth : depth + 1)) return false;
    }
    return true;
  };
  return fits(value, 0);
}

function lengthOf(part: unknown): number {
  if (typeof part === "string") return part.length + 3;
  return typeof part === "number" || typeof part === "boolean" ? String(part).length + 1 : 2;
}

/**
 * Makes valibot list all faults of a value, or stop at the first one where the value, or the work,
 * is large.
 *
 * The value is measured at the first fault, so that valid values do not pay for it.
 */
export function explaining(value: unknown): RunConfig {
  let left: number | undefined;
  let measured = value;
  return {
    lang: undefined,
    message: undefined,
    abortPipeEarly: undefined,
    get abortEarly() {
      if (left === undefined) {
        left = isExplainable(measured) ? MAX_QUESTIONS : 0;
        // The configuration may outlive the value.
        measured = undefined;
      }
      return left-- <= 0;
    },
  };
}
