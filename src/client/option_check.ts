/** Checks of options. */

/**
 * Refuses options that cannot be. All names are listed, because a search for the nearest would take
 * a fourth of a bundle.
 *
 * @param options The options.
 * @param others The names of options besides those of all calls.
 * @param action What the options are for.
 * @throws {TypeError} If one is unknown.
 * @throws {RangeError} If a timeout is not a positive number.
 */
export function checkCall(options: object, others: readonly string[], action: string): void {
  const known = ["signal", "timeout", "headers", ...others];
  for (const [name, value] of Object.entries(options)) {
    if (!known.includes(name)) {
      throw new TypeError(`Cannot ${action}: the option "${name}" is unknown, there are ${known.join(", ")}`);
    }
    if (/timeout$/i.test(name) && value !== undefined && !(value > 0)) {
      throw new RangeError(`Cannot ${action}: ${name} must be milliseconds above 0, got ${value}`);
    }
  }
}
