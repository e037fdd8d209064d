import { HTTPError } from "../base/errors.ts";
import { isStackOverflow } from "../schema/schema.ts";

/** The server does not read the rest of the body, so the client must not send it. */
const CLOSE = { connection: "close" };

export function tooLarge(limit: number, what = "The body is"): HTTPError {
  return new HTTPError(413, `${what} larger than ${limit} bytes`, { headers: CLOSE });
}

export function tooManyFields(limit: number): HTTPError {
  return new HTTPError(413, `The form has more than ${limit} fields`, { headers: CLOSE });
}

/** Beyond `readTimeout`, or because the server stops. */
export function tooSlow(isStopping: boolean): HTTPError {
  if (isStopping) return new HTTPError(503, "The server stops", { headers: CLOSE });
  return new HTTPError(408, "The body did not arrive in time", { headers: CLOSE });
}

/** For a failure of the stream: the client has disconnected too early. */
export function cutShort(cause: unknown): unknown {
  return cause instanceof HTTPError ? cause : new HTTPError(400, "The body was cut short", { cause });
}

/** RFC 9110, sections 8.4 and 15.5.16. Throws a 415 for a coding that is not accepted. */
export function codingOf<Coding extends string>(headers: Headers, accepted: readonly Coding[]): Coding | undefined {
  const sent = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (sent === "" || sent === "identity") return undefined;
  // The old name of gzip is still valid (RFC 9110, section 8.4.1.3).
  const coding = accepted.find((each) => each === (sent === "x-gzip" ? "gzip" : sent));
  if (coding !== undefined) return coding;
  const detail = accepted.length === 0
    ? "The body must be sent as it is, without a content-encoding"
    : `The body must have one of these content-encodings, or none: ${accepted.join(", ")}`;
  throw new HTTPError(415, detail, { headers: { "accept-encoding": [...accepted, "identity"].join(", ") } });
}

/** A recursive schema follows the nesting of a body, until the stack overflows. */
export function refuseDepth(error: unknown): never {
  throw isStackOverflow(error) ? new HTTPError(400, "The body is nested too deeply") : error;
}
