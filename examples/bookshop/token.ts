/** Bearer tokens (RFC 6750). */
import { createHash } from "node:crypto";

/** The token in an `Authorization` header, if it holds one. */
export function bearerToken(header: string): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(header)?.[1];
}

/**
 * What is stored of a token. A plain hash is enough for a long random text; a password would need a
 * slow one.
 */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
