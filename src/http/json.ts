/** JSON of requests and replies, and the media types that announce it. */
import { HTTPError } from "../errors.ts";
import { refuseContentEncoding } from "./body_errors.ts";

/** The media type without parameters, in lower case; empty without a `content-type` header. */
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

/**
 * Parses JSON from a client.
 *
 * @param text The body.
 * @param headers The headers of the request.
 * @throws {HTTPError} With 400 if it is not JSON, with 415 if it is compressed.
 */
export function parseJson(text: string, headers: Headers): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Compressed bytes are never JSON, so the header is read only here. Reading it for each request
    // has a measurable cost.
    refuseContentEncoding(headers);
    // The message of the parser would repeat what the client sent.
    throw new HTTPError(400, "The body is not well-formed JSON");
  }
}

/**
 * Writes a value as JSON. A bigint becomes a string of digits.
 *
 * @throws {TypeError} If the value has no JSON form.
 */
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
