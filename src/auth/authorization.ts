/** The credentials in the `Authorization` header. */
import type { HttpRequest } from "../http/request.ts";
import { MAX_CREDENTIAL } from "./refusal.ts";

/** Whether a request carries any credentials in its `Authorization` header. */
export function hasAuthorization(request: HttpRequest): boolean {
  return request.raw.headers.has("authorization");
}

/**
 * The credentials of one scheme in the `Authorization` header (RFC 9110, section 11.4). Null if
 * there are none of this scheme, undefined if they are malformed or too long.
 *
 * @param scheme The name of the scheme in lower case.
 */
export function credentialsOf(request: HttpRequest, scheme: string): string | null | undefined {
  const header = request.raw.headers.get("authorization");
  if (header === null || header.slice(0, scheme.length).toLowerCase() !== scheme) return null;
  if (header.length > scheme.length && header[scheme.length] !== " ") return null;
  const credentials = header.slice(scheme.length + 1).trim();
  // Two headers become one text with ", ", which has a space.
  return credentials.length <= MAX_CREDENTIAL && /^[\x21-\x7e]+$/.test(credentials) ? credentials : undefined;
}
