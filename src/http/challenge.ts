/** The challenges of a reply that refuses credentials: the header `WWW-Authenticate`. */
import type { HTTPError } from "../errors.ts";

const HEADER = "www-authenticate";
/** What a `realm` or another value in quotes holds (RFC 9110, section 5.6.4). */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;
const BEARER = /(?:^|,)\s*bearer(?=\s|,|$)/i;
const METADATA = /[\s,]resource_metadata\s*=/i;
const INSUFFICIENT_SCOPE = /[\s,]error\s*=\s*"?insufficient_scope(?:["\s,]|$)/i;

/**
 * Whether an error of a guard asks the client to get a token or a better one: a 401, or a 403 for a
 * token without a scope (RFC 6750, section 3.1).
 */
export function isChallenge({ status, headers }: Pick<HTTPError, "status" | "headers">): boolean {
  if (status !== 403) return status === 401;
  try {
    return INSUFFICIENT_SCOPE.test(new Headers(headers).get(HEADER) ?? "");
  } catch {
    // The headers cannot be sent.
    return false;
  }
}

/**
 * Adds `resource_metadata` to the `Bearer` challenge of a reply (RFC 9728, section 5.1). A 401
 * without such a challenge gets one. A 403 without it stays as it is, and so does a challenge that
 * names metadata of its own.
 *
 * @param reply The reply, whose headers can be changed.
 * @param url The URL of the metadata, in ASCII without quotes.
 */
export function addResourceMetadata({ status, headers }: Response, url: string): void {
  if (status !== 401 && status !== 403) return;
  const parameter = `resource_metadata="${url}"`;
  const challenges = headers.get(HEADER) ?? "";
  // Of the same length, and without what only looks like a challenge.
  const unquoted = challenges.replace(QUOTED, (text) => "_".repeat(text.length));
  if (METADATA.test(unquoted)) return;
  const bearer = BEARER.exec(unquoted);
  if (bearer) {
    const end = bearer.index + bearer[0].length;
    const others = challenges.slice(end).trimStart();
    const separator = others === "" || others.startsWith(",") ? "" : ", ";
    headers.set(HEADER, `${challenges.slice(0, end)} ${parameter}${separator}${others}`);
  } else if (status === 401) headers.append(HEADER, `Bearer ${parameter}`);
}
