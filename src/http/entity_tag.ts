/** Entity tags: names of versions of what is sent (RFC 9110 section 8.8.3). */
import { ifMatch, ifNoneMatch } from "@std/http/etag";

/**
 * Whether `If-None-Match` names none of the versions that there are, compared weakly; also where it was not sent.
 *
 * @param headers Those of the request.
 * @param etag The version that there is.
 */
export function matchesNone(headers: Headers, etag: string | undefined): boolean {
  return ifNoneMatch(tagsOf(headers, "if-none-match"), etag);
}

/**
 * Whether `If-Match` names the version that there is, compared strongly; also where it was not sent.
 *
 * @param headers Those of the request.
 * @param etag The version that there is.
 */
export function matches(headers: Headers, etag: string | undefined): boolean {
  return ifMatch(tagsOf(headers, "if-match"), etag);
}

/** A long run of spaces takes std's pattern seconds, and no tag has any. */
function tagsOf(headers: Headers, name: string): string | null {
  return headers.get(name)?.replace(/\s+/g, "") ?? null;
}
