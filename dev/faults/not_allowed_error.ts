// The error of a run that is impossible on this machine.

/** The system lacks something that a run needs, or does not allow it. */
export class NotAllowedError extends Error {
  override name = "NotAllowedError";
}
