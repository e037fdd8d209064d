/** Bearer tokens (RFC 6750). */
import { createHash } from "node:crypto";

/** The token in an `Authorization` header, if there is one. */
export function bearerToken(header: string): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(header)?.[1];
}

/**
 * The stored form of a token. A plain hash is enough for a long random text; a password needs a
 * slow hash.
 */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
