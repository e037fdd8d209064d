/** Conditional writes: entity tags of data, and `If-Match` (RFC 9110, section 13.1.1). */
import { HTTPError } from "../base/errors.ts";
import { quote } from "../base/options.ts";
import { nodeCrypto } from "../base/runtime.ts";

/**
 * Makes a strong entity tag of data, such as a row of a database: equal data has the same tag, in
 * whatever order its properties are. Tag all that a write can change, or a version number.
 *
 * @param data What JSON can represent; a `Date` and a bigint count, too.
 * @returns The tag with its quotes, for the header `etag` and `request.ifMatch()`.
 * @throws {TypeError} If the data has no JSON form; a RangeError if it contains itself.
 *
 * @example A write that does not overwrite another one
 * ```ts
 * import { App, etagOf } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Note = v.object({ text: v.string() });
 * let note = { text: "first" };
 *
 * const app = new App();
 * app.get("/note", { response: Note }, async (request) => {
 *   request.replyHeaders.set("etag", etagOf(note));
 *   return note;
 * });
 * app.put("/note", { body: Note, ifMatch: "required" }, async (request, { body }) => {
 *   request.ifMatch(etagOf(note));
 *   note = body;
 * });
 *
 * const put = (etag: string) =>
 *   app.fetch(
 *     new Request("http://localhost/note", {
 *       method: "PUT",
 *       body: '{"text":"second"}',
 *       headers: { "content-type": "application/json", "if-match": etag },
 *     }),
 *   );
 * const read = await app.fetch(new Request("http://localhost/note"));
 * const etag = read.headers.get("etag")!;
 * assertEquals([(await put(etag)).status, (await put(etag)).status], [204, 412]);
 * ```
 *
 * @category Requests and replies
 */
export function etagOf(data: unknown): string {
  const json = JSON.stringify(data, (_name, part) => {
    if (typeof part === "bigint") return part.toString();
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => one < other ? -1 : 1));
  });
  if (json === undefined) throw new TypeError(`Cannot make an entity tag: a ${typeof data} has no JSON form`);
  return `"${nodeCrypto().createHash("sha256").update(json).digest("base64url").slice(0, 27)}"`;
}

const STRONG_TAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

const TAGS = /(?:W\/)?"[^"]*"/g;

/**
 * Throws a 412 if `If-Match` is not the tag, a 428 if it is missing and required. A weak tag never
 * matches.
 *
 * @param tag Null if there is nothing to write to.
 */
export function checkIfMatch(headers: Headers, tag: string | null, isRequired: boolean): void {
  if (tag !== null && (typeof tag !== "string" || !STRONG_TAG.test(tag))) {
    throw new TypeError(`Cannot compare If-Match: the tag must be a strong one, as of etagOf(row), got ${quote(tag)}`);
  }
  const header = headers.get("if-match");
  if (header === null) {
    if (isRequired) throw new HTTPError(428, "Send the ETag of the version that you change as If-Match");
    return;
  }
  const wanted: readonly string[] = header.match(TAGS) ?? [];
  const isMatch = tag !== null && (header.trim() === "*" || wanted.includes(tag));
  if (!isMatch) throw new HTTPError(412, "The version is not the one of If-Match: read it again");
}
