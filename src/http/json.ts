/** JSON and UTF-8 of requests and replies, and the media types of JSON. */
import { HTTPError } from "../base/errors.ts";
import { codingOf } from "./body_errors.ts";
import { acceptedCodings, type ResolvedLimits } from "./limits.ts";

/** In lower case, without parameters; empty without a `content-type` header. */
export function mediaTypeOf(headers: Headers): string {
  const header = headers.get("content-type");
  if (header === null) return "";
  const end = header.indexOf(";");
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** Whether a content type means JSON in UTF-8 (RFC 8259; RFC 6839 for `+json`). */
export function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  if (contentType === null) return false;
  const [type = "", ...parameters] = contentType.toLowerCase().split(";");
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type.trim())) return false;
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset);
}

/** Throws a 400 for a body that is not UTF-8, a 415 for one in a coding that was not removed. */
export function decodeJson(body: Uint8Array, request: Request, limits: ResolvedLimits): string {
  return decodeUtf8(body) ?? refuseJson(request, limits, "The body must be JSON in UTF-8");
}

/** Throws a 400 for text that is not JSON, a 415 for a body in a coding that was not removed. */
export function parseJson(text: string, request: Request, limits: ResolvedLimits): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser would repeat input of the client.
    return refuseJson(request, limits, "The body is not well-formed JSON");
  }
}

/** Compressed bytes are never JSON. Reading the header for each request costs too much. */
function refuseJson({ headers }: Request, limits: ResolvedLimits, detail: string): never {
  codingOf(headers, acceptedCodings(limits));
  throw new HTTPError(400, detail);
}

/** Writes JSON, a bigint as digits. Throws a TypeError for a value without a JSON form. */
export function stringify(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    // A replacer makes the common case three times slower, so it is used only for a bigint.
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error;
    json = JSON.stringify(value, (_key, part) => typeof part === "bigint" ? part.toString() : part);
  }
  if (json !== undefined) return json;
  throw new TypeError(`Cannot write a value of type ${typeof value}: it has no JSON form`);
}

const lenient = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/** Removes a byte order mark. Undefined if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  const text = lenient.decode(bytes);
  // The strict decoder has no fast path: use it only if a character may be a replacement.
  if (!text.includes("\ufffd")) return text;
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}
