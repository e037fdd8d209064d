/** The open streams of this process, how far they are, and the errors that break them off. */
import { HTTPError } from "../base/errors.ts";
import { describeError, log } from "../log/log.ts";

/** How long a refused client should wait, in seconds. */
const RETRY_AFTER = "1";

/** The streamed replies of this process. */
export const streamProgress = {
  /**
   * How many chunks clients have read. A server that stops watches whether the number still grows.
   */
  chunks: 0,
  /** How many are open, those of files included. */
  open: 0,
};

/** How many streams and WebSockets hold a slot. */
let held = 0;

/**
 * Acquires a slot for a stream or a WebSocket.
 *
 * @param limit The number of slots.
 * @returns Releases the slot; a second call does nothing.
 * @throws {HTTPError} With 503, if all slots are in use.
 */
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

/** Errors that need no entry: they have one, or the framework itself breaks the stream off. */
const skipped = new WeakSet<object>();

/** Keeps {@linkcode logUnsent} from logging an error. */
export function skipLog(error: unknown): void {
  if (typeof error === "object" && error !== null) skipped.add(error);
}

/**
 * Logs an error that Deno's server finds in a reply, and would print: it cannot send the reply, or
 * its stream breaks off.
 *
 * @param owner The application, whose log gets the entry.
 */
export function logUnsent(error: unknown, owner: object): void {
  if (typeof error === "object" && error !== null && skipped.has(error)) return;
  log("error", "A reply broke off, or could not be sent", { error: describeError(error) }, owner);
}
