/**
 * Replies with versioned bytes: files, blobs and cached strings. They answer conditional requests
 * (RFC 9110, section 13) and ranges (section 14). Loaded with the first such reply.
 */
import { eTag, ifMatch, ifNoneMatch } from "@std/http/etag";
import { HTTPError } from "../../base/errors.ts";
import { UploadedFile } from "./disk_blob.ts";
import { readHttpDate } from "../headers.ts";
import type { RequestContext } from "../context.ts";
import { byteStream } from "../stream_reply.ts";
import { ServedFile } from "./served_file.ts";

/** Larger contents in memory get no entity tag, which needs a hash of all bytes. */
const MAX_TAGGED_SIZE = 1024 * 1024;

/** File systems store times in steps of up to two seconds. */
const TIME_STEP_MS = 2_000;

/** Headers of a content that a 304 does not have (RFC 9110, section 15.4.5). */
const OF_CONTENT = ["content-type", "content-length", "content-encoding", "content-language"];

export interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: Date | undefined;
  /** Whether `lastModified` is so old that a further change would have another time. */
  readonly isSettled?: boolean;
}

/**
 * Makes the reply of a file or blob. A GET or HEAD obeys conditions and ranges, if `status` is 200.
 * The entity tag of a file on disk comes from its size and time; that of a blob in memory from its
 * content, up to 1 MiB.
 */
export async function blobReply(
  blob: Blob,
  status: number,
  context: RequestContext,
  type?: string,
): Promise<Response> {
  const { raw, matched } = context;
  const { method } = raw;
  const headers = headersOf(blob, type);
  // A file may change: caches must revalidate it.
  if (blob instanceof ServedFile) {
    headers.set("cache-control", matched.isGuarded ? "private, no-cache" : "no-cache");
  }
  if (status !== 200 || (method !== "GET" && method !== "HEAD")) return replyOf(blob, status, headers);
  return versionReply(blob, await validatorsOf(blob), raw, headers);
}

/** Throws a 412 if a condition fails, a 416 if the range has no bytes. */
export function versionReply(
  blob: Blob,
  validators: Validators,
  { headers: asked, method }: Request,
  headers: Headers,
): Response {
  const { etag, lastModified } = validators;
  headers.set("accept-ranges", "bytes");
  if (etag !== undefined) headers.set("etag", etag);
  if (lastModified) headers.set("last-modified", lastModified.toUTCString());
  switch (evaluate(asked, validators)) {
    case "failed":
      throw new HTTPError(412, "The content is not the version that was asked for");
    case "unmodified":
      return notModified(headers);
  }
  // HEAD has no ranges, and an empty content has no bytes for one.
  const isPartial = method === "GET" && blob.size > 0 && asked.has("range") && allowsRange(asked, validators);
  const range = isPartial ? byteRangeOf(asked.get("range"), blob.size) : undefined;
  if (range === undefined) return replyOf(blob, 200, headers);
  if (range === null) {
    throw new HTTPError(416, `The content has ${blob.size} bytes, of which none is within the range`, {
      headers: { "content-range": `bytes */${blob.size}` },
    });
  }
  const [first, last] = range;
  headers.set("content-range", `bytes ${first}-${last}/${blob.size}`);
  return replyOf(blob.slice(first, last + 1), 206, headers);
}

function replyOf(blob: Blob, status: number, headers: Headers): Response {
  headers.set("content-length", String(blob.size));
  return new Response(byteStream(blob.stream()).toReadable(), { status, headers });
}

function headersOf(blob: Blob, type: string = blob.type === "" ? "application/octet-stream" : blob.type): Headers {
  const headers = new Headers({ "content-type": type, "x-content-type-options": "nosniff" });
  const name = downloadName(blob);
  if (name !== undefined) headers.set("content-disposition", attachment(name));
  return headers;
}

/**
 * The name for saving the reply; undefined if browsers may show it. In an uploaded file, whose type
 * the client chose, they could run scripts as the application's.
 */
function downloadName(blob: Blob): string | undefined {
  if (blob instanceof ServedFile) return blob.savedAs;
  return blob instanceof UploadedFile ? blob.name : undefined;
}

/** RFC 6266. */
function attachment(name: string): string {
  const clean = name.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}]/gu, "");
  const ascii = clean.replace(/[^\x20-\x7e]|["\\/%]/gu, "_");
  if (ascii === clean) return clean === "" ? "attachment" : `attachment; filename="${clean}"`;
  // encodeURIComponent keeps these characters, but RFC 8187 forbids them.
  const extended = encodeURIComponent(clean).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${extended}`;
}

/** A string that does not change while the application runs. */
export interface CachedText {
  /** With the charset. */
  readonly contentType: string;
  /** The version, in ASCII without quotes. */
  readonly tag: string;
  read(): Promise<string>;
}

/** Half of a SHA-256 hash, in hexadecimal digits. */
export async function contentHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest, 0, 16).toHex();
}

/** By their `read`. */
const compressed = new WeakMap<CachedText["read"], Promise<Uint8Array<ArrayBuffer>>>();

function compress({ read }: CachedText): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = compressed.get(read);
  if (bytes === undefined) {
    bytes = read().then((text) => {
      return new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
    });
    compressed.set(read, bytes);
  }
  return bytes;
}

/** Replies with a cached string, compressed for clients that accept it, or with a 304. */
export async function cachedReply(
  asked: Headers,
  content: CachedText,
  extra: Readonly<Record<string, string>>,
): Promise<Response> {
  const encoding = chooseEncoding(asked.get("accept-encoding"), ["gzip"]);
  const etag = encoding ? `"${content.tag}-${encoding}"` : `"${content.tag}"`;
  const headers = { ...extra, etag, vary: "accept-encoding", "x-content-type-options": "nosniff" };
  if (!ifNoneMatch(tagsOf(asked, "if-none-match"), etag)) return new Response(null, { status: 304, headers });
  const body = encoding ? await compress(content) : await content.read();
  const described = { ...headers, "content-type": content.contentType };
  return new Response(body, { headers: encoding ? { ...described, "content-encoding": encoding } : described });
}

/**
 * Adds an entity tag to a reply to a GET or HEAD, unless it has one or more than 1 MiB, and obeys
 * conditions. The reply has status 200, and its whole body is in memory.
 */
export async function taggedReply(response: Response, asked: Headers): Promise<Response> {
  let reply = response;
  let etag = reply.headers.get("etag") ?? undefined;
  if (etag === undefined) {
    const bytes = await response.bytes();
    reply = new Response(bytes, response);
    if (bytes.length > MAX_TAGGED_SIZE) return reply;
    etag = await eTag(bytes);
    reply.headers.set("etag", etag!);
  }
  const evaluated = evaluate(asked, { etag });
  if (evaluated === "send") return reply;
  reply.body?.cancel().catch(() => {});
  if (evaluated === "failed") throw new HTTPError(412, "The content is not the version that was asked for");
  return notModified(reply.headers);
}

function notModified(headers: Headers): Response {
  for (const name of OF_CONTENT) headers.delete(name);
  return new Response(null, { status: 304, headers });
}

/** A settled file has a strong tag, so that downloads can resume. */
export async function validatorsOf(blob: Blob): Promise<Validators> {
  if (!(blob instanceof ServedFile)) {
    return blob.size > MAX_TAGGED_SIZE ? {} : { etag: await eTag(await blob.bytes()) };
  }
  const lastModified = new Date(blob.lastModified);
  const isSettled = Date.now() - blob.lastModified >= TIME_STEP_MS;
  return { etag: await eTag({ size: blob.size, mtime: lastModified }, { weak: !isSettled }), lastModified, isSettled };
}

/** Evaluates the conditions of a GET or HEAD, in the order of RFC 9110, section 13.2.2. */
function evaluate(headers: Headers, { etag, lastModified }: Validators): "send" | "unmodified" | "failed" {
  const wanted = tagsOf(headers, "if-match");
  if (wanted !== null) {
    // A star only requires that there is a content.
    if (wanted !== "*" && !ifMatch(wanted, etag)) return "failed";
  } else if (lastModified && !isUnmodified(headers, "if-unmodified-since", lastModified, true)) return "failed";
  const known = tagsOf(headers, "if-none-match");
  if (known !== null) return known !== "*" && ifNoneMatch(known, etag) ? "send" : "unmodified";
  return lastModified && isUnmodified(headers, "if-modified-since", lastModified, false) ? "unmodified" : "send";
}

/** Without spaces: @std's pattern takes seconds for a long run of them. */
function tagsOf(headers: Headers, name: string): string | null {
  return headers.get(name)?.replace(/\s+/g, "") ?? null;
}

/** Whether the date in a header is at or after the last change, in whole seconds. */
function isUnmodified(headers: Headers, name: string, lastModified: Date, withoutDate: boolean): boolean {
  const time = readHttpDate(headers.get(name) ?? "");
  return time === undefined ? withoutDate : Math.floor(lastModified.getTime() / 1000) * 1000 <= time;
}

/** RFC 9110, section 13.1.5: one version, never a list. */
function allowsRange(headers: Headers, { etag, lastModified, isSettled = false }: Validators): boolean {
  const condition = headers.get("if-range");
  if (condition === null) return true;
  if (condition === etag) return !condition.startsWith("W/");
  return isSettled && lastModified !== undefined && condition === lastModified.toUTCString();
}

/**
 * The first and last index; undefined for the whole content; null for a 416. Several ranges get the
 * whole content, which RFC 9110 allows: many ranges are an attack.
 */
function byteRangeOf(header: string | null, size: number): readonly [first: number, last: number] | undefined | null {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? "") ?? [];
  if (from === undefined || to === undefined || from + to === "") return undefined;
  if (from === "") return Number(to) === 0 || size === 0 ? null : [Math.max(0, size - Number(to)), size - 1];
  const [first, last] = [Number(from), to === "" ? Infinity : Number(to)];
  if (last < first) return undefined;
  return first < size ? [first, Math.min(last, size - 1)] : null;
}

/** The best first. */
export const ENCODINGS = ["br", "gzip"] as const;

export type Encoding = typeof ENCODINGS[number];

/** Undefined for the uncompressed content, also if nothing else is accepted (section 12.5.3). */
export function chooseEncoding(header: string | null, offered: readonly Encoding[]): Encoding | undefined {
  if (header === null || offered.length === 0) return undefined;
  const weights = weightsOf(header);
  const any = weights.get("*");
  // The uncompressed content is the last choice, unless the client gives it a weight.
  let best = weights.get("identity") ?? 0;
  let chosen: Encoding | undefined;
  for (const encoding of ENCODINGS) {
    if (!offered.includes(encoding)) continue;
    const weight = weights.get(encoding) ?? (encoding === "gzip" ? weights.get("x-gzip") : undefined) ?? any ?? 0;
    if (weight === 0 || weight < best || (weight === best && chosen !== undefined)) continue;
    [best, chosen] = [weight, encoding];
  }
  return chosen;
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const value = weight === undefined ? 1 : Number(weight.slice(2));
    // An unreadable weight is zero: each client accepts the uncompressed content.
    if (name !== "") weights.set(name, value > 0 && value <= 1 ? value : 0);
  }
  return weights;
}
