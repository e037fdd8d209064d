/** Errors that Deno's server finds in replies: it cannot send one, or a stream breaks off. */
import { describeError, log } from "../log/log.ts";

/** Errors that need no entry: they have one, or the framework itself breaks the stream off. */
const skipped = new WeakSet<object>();

/** Keeps {@linkcode logUnsent} from logging an error. */
export function skipLog(error: unknown): void {
  if (typeof error === "object" && error !== null) skipped.add(error);
}

/**
 * Logs an error of Deno's server, which would print it.
 *
 * @param error The error.
 * @param owner The application, whose log gets the entry.
 */
export function logUnsent(error: unknown, owner: object): void {
  if (typeof error === "object" && error !== null && skipped.has(error)) return;
  log("error", "A reply broke off, or could not be sent", { error: describeError(error) }, owner);
}
