/** The error of a store that cannot be opened. */

/**
 * The store can never be opened as it is configured, so that trying again changes nothing. Nothing was asked of it: whoever gets
 * this from an append has appended nothing.
 */
export class CannotOpenError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "CannotOpenError";

  /**
   * Its message says why, and what to do.
   *
   * @param message The message.
   */
  constructor(message: string) {
    super(message);
    // It is no fault of a line of the program: where it came from within the framework would only
    // hide the message.
    this.stack = `${this.name}: ${message}`;
  }
}
