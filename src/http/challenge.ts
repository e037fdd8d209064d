/** The challenges of a reply that refuses credentials: the header `WWW-Authenticate`. */
import type { HTTPError } from "../base/errors.ts";

const HEADER = "www-authenticate";
/** What a `realm` or another value in quotes holds (RFC 9110, section 5.6.4). */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;
const BEARER = /(?:^|,)\s*bearer(?=\s|,|$)/i;
const METADATA = /[\s,]resource_metadata\s*=/i;
const SCOPE = /[\s,]scope\s*=/i;
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

/** Tells a client how to get a token: the metadata of the resource (RFC 9728), and the scopes. */
export interface ResourceMetadataHint {
  /** The URL of the metadata, in ASCII without quotes. */
  readonly metadata: string;
  /** The scopes that the token must have. */
  readonly scopes: readonly string[];
}

/**
 * Adds `resource_metadata` to the `Bearer` challenge of a reply (RFC 9728, section 5.1), and to
 * that of a 401 also `scope` (RFC 6750, section 3). A 401 without such a challenge gets one. A 403
 * without it stays as it is, and parameters that are there already stay, too.
 */
export function addMetadataHint({ status, headers }: Response, { metadata, scopes }: ResourceMetadataHint): void {
  if (status !== 401 && status !== 403) return;
  const challenges = headers.get(HEADER) ?? "";
  // Of the same length, and without what only looks like a challenge.
  const unquoted = challenges.replace(QUOTED, (text) => "_".repeat(text.length));
  const parameters = METADATA.test(unquoted) ? [] : [`resource_metadata="${metadata}"`];
  if (status === 401 && scopes.length > 0 && !SCOPE.test(unquoted)) parameters.push(`scope="${scopes.join(" ")}"`);
  if (parameters.length === 0) return;
  const bearer = BEARER.exec(unquoted);
  if (bearer) {
    const end = bearer.index + bearer[0].length;
    const others = challenges.slice(end).trimStart();
    const separator = others === "" || others.startsWith(",") ? "" : ", ";
    headers.set(HEADER, `${challenges.slice(0, end)} ${parameters.join(", ")}${separator}${others}`);
  } else if (status === 401) headers.append(HEADER, `Bearer ${parameters.join(", ")}`);
}
