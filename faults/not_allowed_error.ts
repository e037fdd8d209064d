// What a run throws that cannot be made here.

/** The system does not allow what a run needs, or does not have it. */
export class NotAllowedError extends Error {
  override name = "NotAllowedError";
}
