/** Tokens, as the database has them. */
import { createHash } from "node:crypto";

/**
 * The stored form of a token. A plain hash is enough for a long random text; a password needs a
 * slow hash.
 */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
