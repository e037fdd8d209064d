/** The errors of bodies that are not taken. */
import { HTTPError } from "../errors.ts";

/** More bytes than are allowed. */
export function tooLarge(limit: number): HTTPError {
  return new HTTPError(413, `The body is larger than ${limit} bytes`);
}

/** Longer on its way than is allowed. */
export function tooSlow(): HTTPError {
  return new HTTPError(408, "The body did not arrive in time", { headers: { connection: "close" } });
}

/** A body that breaks off is the client's fault, or it has gone; either way no fault of the application. */
export function cutShort(cause: unknown): unknown {
  return cause instanceof HTTPError ? cause : new HTTPError(400, "The body was cut short", { cause });
}
