/**
 * Whether an error says that the stack is full. A recursive function follows the nesting of what a client sent, which the stack
 * may not hold.
 */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}
