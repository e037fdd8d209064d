/** Checks of options. */
import type { CallOptions } from "./types.ts";

/**
 * Refuses options that cannot be. All names are listed, because a search for the nearest would take
 * a fourth of a bundle.
 *
 * @throws {TypeError} If one is unknown.
 * @throws {RangeError} If the timeout is not a positive number.
 */
export function checkCall(options: Pick<CallOptions, "timeout">, known: readonly string[], action: string): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`Cannot ${action}: the option "${unknown}" is unknown, there are ${known.join(", ")}`);
  }
  const { timeout = 1 } = options;
  if (!(timeout > 0)) {
    throw new RangeError(`Cannot ${action}: the timeout must be milliseconds above 0, got ${timeout}`);
  }
}
