/** The error of a store that cannot be opened. */

/**
 * The store can never be opened as it is configured, so that trying again changes nothing. Nothing was asked of it: whoever gets
 * this from an append has appended nothing.
 */
export class CannotOpenError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "CannotOpenError";
}
