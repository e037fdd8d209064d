/** The errors of request bodies that the server does not accept. */
import { HTTPError } from "../base/errors.ts";
import { isStackOverflow } from "../schema/schema.ts";

/** The server does not read the rest of the body, so the client must not send it. */
const CLOSE = { connection: "close" };

/** 413: more bytes than allowed. */
export function tooLarge(limit: number, what = "The body is"): HTTPError {
  return new HTTPError(413, `${what} larger than ${limit} bytes`, { headers: CLOSE });
}

/** 413: more fields than allowed. */
export function tooManyFields(limit: number): HTTPError {
  return new HTTPError(413, `The form has more than ${limit} fields`, { headers: CLOSE });
}

/** 408: the body did not arrive within `readTimeout`; 503 when the server stops meanwhile. */
export function tooSlow(isStopping: boolean): HTTPError {
  if (isStopping) return new HTTPError(503, "The server stops", { headers: CLOSE });
  return new HTTPError(408, "The body did not arrive in time", { headers: CLOSE });
}

/** 400 for a failure of the body's stream: the client has closed the connection too early. */
export function cutShort(cause: unknown): unknown {
  return cause instanceof HTTPError ? cause : new HTTPError(400, "The body was cut short", { cause });
}

/**
 * Refuses compressed and otherwise encoded bodies (RFC 9110, sections 8.4 and 15.5.16).
 *
 * @throws {HTTPError} With 415.
 */
export function refuseContentEncoding(headers: Headers): void {
  const coding = headers.get("content-encoding")?.trim() ?? "";
  if (coding === "" || coding.toLowerCase() === "identity") return;
  throw new HTTPError(415, "The body must be sent as it is, without a content-encoding", {
    headers: { "accept-encoding": "identity" },
  });
}

/**
 * Refuses a body that is nested too deeply for the stack: a recursive schema follows the nesting.
 *
 * @throws {HTTPError} With 400 for a stack overflow; any other error is thrown as it is.
 */
export function refuseDepth(error: unknown): never {
  throw isStackOverflow(error) ? new HTTPError(400, "The body is nested too deeply") : error;
}
