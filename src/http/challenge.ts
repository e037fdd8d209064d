/** The header `WWW-Authenticate` of replies that refuse credentials. */
import type { HTTPError } from "../base/errors.ts";

const HEADER = "www-authenticate";
/** A quoted value, such as a `realm` (RFC 9110, section 5.6.4). */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;
const BEARER = /(?:^|,)\s*bearer(?=\s|,|$)/i;
const METADATA = /[\s,]resource_metadata\s*=/i;
const SCOPE = /[\s,]scope\s*=/i;
const INSUFFICIENT_SCOPE = /[\s,]error\s*=\s*"?insufficient_scope(?:["\s,]|$)/i;

/** A 401, or a 403 for a token without a scope (RFC 6750, section 3.1). */
export function isChallenge({ status, headers }: Pick<HTTPError, "status" | "headers">): boolean {
  if (status !== 403) return status === 401;
  try {
    return INSUFFICIENT_SCOPE.test(new Headers(headers).get(HEADER) ?? "");
  } catch {
    // The headers cannot be sent.
    return false;
  }
}

/** Where a client gets a token (RFC 9728), and its scopes. */
export interface ResourceMetadataHint {
  /** The URL of the metadata, in ASCII without quotes. */
  readonly metadata: string;
  readonly scopes: readonly string[];
}

/**
 * Adds `resource_metadata` to the `Bearer` challenge of a reply (RFC 9728, section 5.1), and to
 * that of a 401 also `scope` (RFC 6750, section 3). A 401 without a `Bearer` challenge gets one, a
 * 403 does not. Existing parameters are kept.
 */
export function addMetadataHint({ status, headers }: Response, { metadata, scopes }: ResourceMetadataHint): void {
  if (status !== 401 && status !== 403) return;
  const challenges = headers.get(HEADER) ?? "";
  // Of the same length, without quoted text that only looks like a challenge.
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
