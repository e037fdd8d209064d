import { eTag, ifMatch, ifNoneMatch } from "@std/http/etag";
import { HTTPError } from "../../errors.ts";
import { ServedFile } from "./file.ts";
import { byteStream } from "../stream_reply.ts";
import type { HttpRequest } from "../request.ts";
import { UploadedFile } from "../forms/uploaded_file.ts";

/** The header that makes a browser save a reply as a file (RFC 6266). */

/**
 * Its value for a name, whatever characters that has.
 *
 * @param name What the file is to be called.
 */
export function attachment(name: string): string {
  const clean = name.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}]/gu, "");
  const ascii = clean.replace(/[^\x20-\x7e]|["\\/%]/gu, "_");
  if (ascii === clean) return clean === "" ? "attachment" : `attachment; filename="${clean}"`;
  // What encodeURIComponent leaves alone and RFC 8187 does not.
  const extended = encodeURIComponent(clean).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${extended}`;
}

/** Entity tags: names of versions of what is sent (RFC 9110 section 8.8.3). */

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

/** Whether a client wants what there is, by the version that it knows (RFC 9110 section 13). */

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

/** Ranges of bytes that clients ask for (RFC 9110 section 14). */

/** From one byte to another, which is a part of it. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads a `Range` header. Several ranges are not served, as a client must reckon with; many of them are an attack.
 *
 * @param header What was sent.
 * @param size How many bytes there are.
 * @returns The range; `undefined` where the whole is to be sent; `null` where nothing is within the range, a 416.
 */
export function byteRangeOf(header: string | null, size: number): ByteRange | undefined | null {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? "") ?? [];
  if (from === undefined || to === undefined || from + to === "") return undefined;
  if (from === "") {
    return Number(to) === 0 || size === 0 ? null : { first: Math.max(0, size - Number(to)), last: size - 1 };
  }
  const [first, last] = [Number(from), to === "" ? Infinity : Number(to)];
  if (last < first) return undefined;
  return first < size ? { first, last: Math.min(last, size - 1) } : null;
}

/** Replies of blobs and files: whole, in part, or not at all where the client has them. */

/** A larger blob is not read through for its tag. */
const MAX_TAGGED_SIZE = 1024 * 1024;

/**
 * A reply of a blob.
 *
 * A GET or HEAD is answered by its conditions and its range. A file on disk has a tag of its size and time, a blob in memory one of
 * its content, up to a mebibyte.
 *
 * @param blob What to send.
 * @param status The status; any but 200 sends the whole.
 * @param request Whose reply it is.
 * @throws {HTTPError} With 412, when a condition fails; with 416, when nothing is within the range.
 */
export async function blobReply(blob: Blob, status: number, request: HttpRequest): Promise<Response> {
  const { headers: asked, method } = request.raw;
  const headers = headersOf(blob);
  if (status !== 200 || (method !== "GET" && method !== "HEAD")) return replyOf(blob, status, headers);
  const validators = await validatorsOf(blob);
  const { etag, lastModified } = validators;
  headers.set("accept-ranges", "bytes");
  if (etag !== undefined) headers.set("etag", etag);
  if (lastModified) headers.set("last-modified", lastModified.toUTCString());
  switch (outcomeOf(asked, validators)) {
    case "failed":
      throw new HTTPError(412, "The content is not the version that was asked for");
    case "unmodified":
      headers.delete("content-type");
      return new Response(null, { status: 304, headers });
  }
  // A HEAD has no range, and nothing of what is empty can be within one.
  const isPartial = method === "GET" && blob.size > 0 && asked.has("range") && isSameForRange(asked, validators);
  const range = isPartial ? byteRangeOf(asked.get("range"), blob.size) : undefined;
  if (range === undefined) return replyOf(blob, 200, headers);
  if (range === null) {
    throw new HTTPError(416, `The content has ${blob.size} bytes, of which none is within the range`, {
      headers: { "content-range": `bytes */${blob.size}` },
    });
  }
  headers.set("content-range", `bytes ${range.first}-${range.last}/${blob.size}`);
  return replyOf(blob.slice(range.first, range.last + 1), 206, headers);
}

function headersOf(blob: Blob): Headers {
  const type = blob.type === "" ? "application/octet-stream" : blob.type;
  const headers = new Headers({ "content-type": type, "x-content-type-options": "nosniff" });
  const name = savedName(blob);
  if (name !== undefined) headers.set("content-disposition", attachment(name));
  return headers;
}

/** What a client has sent is of the type that it says: shown by a browser it could run scripts as the application's own. */
function savedName(blob: Blob): string | undefined {
  if (blob instanceof ServedFile) return blob.savedAs;
  return blob instanceof UploadedFile ? blob.name : undefined;
}

async function validatorsOf(blob: Blob): Promise<Validators> {
  if (blob instanceof ServedFile) return await validatorsOfFile(blob.size, new Date(blob.lastModified));
  return blob.size > MAX_TAGGED_SIZE ? {} : { etag: await eTag(await blob.bytes()) };
}

function replyOf(blob: Blob, status: number, headers: Headers): Response {
  headers.set("content-length", String(blob.size));
  return new Response(byteStream(blob.stream()).toReadable(), { status, headers });
}

/** Texts that stay the same while the application runs: sent with a tag, and not sent again to whoever has them. */

/** A text, read when it is needed. */
export interface CachedText {
  /** Its media type, with the charset. */
  readonly contentType: string;
  /** Names this version of it, in ASCII without quotes. */
  readonly tag: string;
  /** Gives the text. */
  read(): Promise<string>;
}

/** A tag made of a text: another text has another one. */
export async function contentHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest, 0, 16).toHex();
}

/**
 * The reply with a text; a 304 without it for a client that has this version (RFC 9110, section 13.1.2).
 *
 * @param asked The headers of the request.
 * @param content What is sent.
 * @param further Headers of the reply, beside those that say what it is.
 */
export async function cachedReply(
  asked: Headers,
  content: CachedText,
  further: Readonly<Record<string, string>>,
): Promise<Response> {
  const etag = `"${content.tag}"`;
  const headers = { ...further, etag, "x-content-type-options": "nosniff" };
  if (!matchesNone(asked, etag)) return new Response(null, { status: 304, headers });
  return new Response(await content.read(), { headers: { ...headers, "content-type": content.contentType } });
}
