/** Whether a client wants what there is, by the version that it knows (RFC 9110 section 13). */
import { eTag } from "@std/http/etag";
import { matches, matchesNone } from "./entity_tag.ts";

/** What tells one version from another. */
export interface Validators {
  /** Its tag. */
  readonly etag?: string | undefined;
  /** When it was changed last. */
  readonly lastModified?: Date | undefined;
  /** Whether it is long enough ago that another change would have another time. */
  readonly isSettled?: boolean;
}

/** A file system keeps times in steps, of two seconds at most: two changes within one cannot be told apart. */
const SETTLED_MS = 2_000;

/** What tells the version of a file. Its tag is strong once the file is left alone, so that a broken-off transfer can go on. */
export async function validatorsOfFile(size: number, lastModified: Date): Promise<Validators> {
  const isSettled = Date.now() - lastModified.getTime() >= SETTLED_MS;
  return { etag: await eTag({ size, mtime: lastModified }, { weak: !isSettled }), lastModified, isSettled };
}

/**
 * What becomes of a GET or HEAD request, in the order of RFC 9110 section 13.2.2.
 *
 * @param headers Those of the request.
 * @param validators Of the version that there is.
 * @returns `send` it; tell that it is `unmodified`, a 304; or that the condition has `failed`, a 412.
 */
export function outcomeOf(headers: Headers, { etag, lastModified }: Validators): "send" | "unmodified" | "failed" {
  if (headers.has("if-match")) {
    if (!matches(headers, etag)) return "failed";
  } else if (lastModified && !isSince(headers, "if-unmodified-since", lastModified, true)) return "failed";
  if (headers.has("if-none-match")) return matchesNone(headers, etag) ? "send" : "unmodified";
  return lastModified && isSince(headers, "if-modified-since", lastModified, false) ? "unmodified" : "send";
}

/** Whether a part may be sent to a client that has the rest of a version: of this one (RFC 9110 section 13.1.5). */
export function isSameForRange(headers: Headers, { etag, lastModified, isSettled = false }: Validators): boolean {
  const condition = headers.get("if-range");
  if (condition === null) return true;
  // It names one version: a list, or any, is not for it.
  if (condition === etag) return !condition.startsWith("W/");
  return isSettled && lastModified !== undefined && condition === lastModified.toUTCString();
}

/** Whether a date that was sent is not before that of the last change; a date has no parts of a second. */
function isSince(headers: Headers, name: string, lastModified: Date, otherwise: boolean): boolean {
  const time = Date.parse(headers.get(name) ?? "");
  return Number.isNaN(time) ? otherwise : Math.floor(lastModified.getTime() / 1000) * 1000 <= time;
}
