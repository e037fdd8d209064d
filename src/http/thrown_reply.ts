/** Replies that are thrown in place of a value, and are no errors. */

/**
 * Ends a request with a reply, from a place that can only return a value or throw: a guard that
 * redirects. It is neither logged nor shaped by `onError`.
 */
export class ThrownReply extends Error {
  /** The name of the class, for logs. */
  override readonly name = "ThrownReply";
  /** The reply. Its headers are mutable. */
  readonly reply: Response;

  /** Wraps a reply, which can be sent once. */
  constructor(reply: Response) {
    super("A reply");
    this.reply = reply;
  }
}

/** Whether a thrown value is a {@linkcode ThrownReply}. */
export function isThrownReply(thrown: unknown): thrown is ThrownReply {
  try {
    return thrown instanceof ThrownReply;
  } catch {
    // A proxy may throw for any operation.
    return false;
  }
}
