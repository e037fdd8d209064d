/** The errors of bodies that are not taken. */
import { HTTPError } from "../errors.ts";
import { isStackOverflow } from "../schema/stack.ts";

/** The rest of such a body is not read: the client is told not to send it. */
const CLOSE = { connection: "close" };

/** More bytes than are allowed. */
export function tooLarge(limit: number, what = "The body is"): HTTPError {
  return new HTTPError(413, `${what} larger than ${limit} bytes`, { headers: CLOSE });
}

/** More fields than are allowed. */
export function tooManyFields(limit: number): HTTPError {
  return new HTTPError(413, `The form has more than ${limit} fields`, { headers: CLOSE });
}

/**
 * Refuses what is compressed, or coded in another way (RFC 9110, sections 8.4 and 15.5.16).
 *
 * @throws {HTTPError} With 415.
 */
export function refuseCoded(headers: Headers): void {
  const coding = headers.get("content-encoding")?.trim() ?? "";
  if (coding === "" || coding.toLowerCase() === "identity") return;
  throw new HTTPError(415, "The body must be sent as it is, without a content-encoding", {
    headers: { "accept-encoding": "identity" },
  });
}

/**
 * The body did not arrive within its time: that of the limits, or what a server that stops leaves
 * it.
 */
export function tooSlow(isStopping: boolean): HTTPError {
  if (isStopping) return new HTTPError(503, "The server stops", { headers: CLOSE });
  return new HTTPError(408, "The body did not arrive in time", { headers: CLOSE });
}

/** A body that breaks off is the client's fault, or it has gone; either way no fault of the application. */
export function cutShort(cause: unknown): unknown {
  return cause instanceof HTTPError ? cause : new HTTPError(400, "The body was cut short", { cause });
}

/**
 * Refuses a body whose nesting the stack does not hold: a recursive schema follows it.
 *
 * @throws {HTTPError} With 400, or whatever else was thrown.
 */
export function refuseDepth(error: unknown): never {
  throw isStackOverflow(error) ? new HTTPError(400, "The body is nested too deeply") : error;
}
