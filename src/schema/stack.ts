/**
 * Whether an error is a stack overflow. A recursive function follows the nesting of its input,
 * which a client chooses.
 */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}
