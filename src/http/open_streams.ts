/** The open streams of this process, their progress, and the errors that break them off. */
import { HTTPError } from "../base/errors.ts";
import { describeError, log } from "../log/log.ts";

const RETRY_AFTER = "1";

export const streamProgress = {
  /** Chunks that clients have read. A server that stops watches whether the number grows. */
  chunks: 0,
  /** Including those of files. */
  open: 0,
};

/** Slots in use. */
let held = 0;

/** Acquires one of `limit` slots, or throws a 503. The result releases it; idempotent. */
export function acquireSlot(limit: number): () => void {
  if (held >= limit) {
    throw new HTTPError(503, "Too many streams are open", { headers: { "retry-after": RETRY_AFTER } });
  }
  held++;
  let isHeld = true;
  return () => {
    if (isHeld) held--;
    isHeld = false;
  };
}

/** Already logged, or caused by the framework itself. */
const skipped = new WeakSet<object>();

/** Keeps {@linkcode logUnsent} from logging an error. */
export function skipLog(error: unknown): void {
  if (typeof error === "object" && error !== null) skipped.add(error);
}

/**
 * Logs an error that Deno's server finds in a reply, and would print otherwise: it cannot send the
 * reply, or its stream broke off. `owner` is the application.
 */
export function logUnsent(error: unknown, owner: object): void {
  if (typeof error === "object" && error !== null && skipped.has(error)) return;
  log("error", "A reply broke off, or could not be sent", { error: describeError(error) }, owner);
}
