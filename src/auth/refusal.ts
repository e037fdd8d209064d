/** The replies of guards that refuse a request, as errors and in the document. */
import type { DeclaredReply } from "../binding/dependency.ts";
import { HTTPError } from "../base/errors.ts";

/**
 * The most characters of a credential that are looked at. A longer one is refused at once. Tokens
 * with many claims have some thousand.
 */
export const MAX_CREDENTIAL = 16_384;

const CHALLENGE = { "WWW-Authenticate": "How to authenticate (RFC 9110)." };

/** The reply of each guard to a request without credentials, or with wrong ones. */
export const UNAUTHORIZED: DeclaredReply = {
  status: 401,
  description: "The credentials are missing or not valid.",
  headers: CHALLENGE,
};

/** The reply to credentials that are valid, and lack a scope. */
export const FORBIDDEN: DeclaredReply = {
  status: 403,
  description: "The credentials are valid, and do not permit this.",
  headers: CHALLENGE,
};

/** The reply while credentials cannot be verified. */
export const UNAVAILABLE: DeclaredReply = {
  status: 503,
  description: "The credentials cannot be verified at present.",
  headers: { "Retry-After": "The seconds after which to try again." },
};

/** A 401 with its challenge. */
export function unauthorized(detail: string, challenge: string): HTTPError {
  return new HTTPError(401, detail, { headers: { "www-authenticate": challenge } });
}

/** Whether the function of a user let the caller in. */
export function isLetIn<Value>(value: Value | null | undefined | false): value is Value {
  return value !== null && value !== undefined && value !== false;
}
