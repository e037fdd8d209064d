/** What the headers of a part of a form say of it (RFC 7578 section 4). */
import { HTTPError } from "../errors.ts";

/** The headers of a part as they were sent: all values of each name in lower case, one character for each byte. */
export type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>;

/** What a part is. */
export interface PartHead {
  /** The name of its field. */
  readonly name: string;
  /** What is said of the file that it is; a part that is none holds text. */
  readonly file: { readonly name: string; readonly type: string } | undefined;
}

/** A parameter of a header: its name, and its value in quotes or without. A quote within is escaped by old clients alone. */
const PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|([^;"]*))[ \t]*/y;

/** What browsers write in the place of characters that would end a name (HTML, "multipart/form-data encoding algorithm"). */
const ESCAPES: Readonly<Record<string, string>> = { "%0A": "\n", "%0D": "\r", "%22": '"' };

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+/;

/**
 * Reads the headers of a part.
 *
 * @throws {HTTPError} With 400, when they do not say of which field it is.
 */
export function readPartHead(headers: PartHeaders): PartHead {
  const [disposition, ...others] = headers["content-disposition"] ?? [];
  if (disposition === undefined || others.length > 0) throw malformed();
  const parameters = parametersOf(disposition);
  const name = parameters.get("name");
  if (name === undefined) throw malformed();
  const encoded = parameters.get("filename*");
  const fileName = parameters.get("filename") ?? (encoded === undefined ? undefined : decodeExtended(encoded));
  if (fileName === undefined) return { name, file: undefined };
  const [type = "application/octet-stream"] = MEDIA_TYPE.exec(headers["content-type"]?.[0]?.trim() ?? "") ?? [];
  return { name, file: { name: baseName(fileName), type: type.toLowerCase() } };
}

function parametersOf(disposition: string): Map<string, string> {
  const start = /^[ \t]*form-data[ \t]*/i.exec(disposition);
  if (!start) throw malformed();
  const parameters = new Map<string, string>();
  let end = PARAMETER.lastIndex = start[0].length;
  for (let match; (match = PARAMETER.exec(disposition)); end = PARAMETER.lastIndex) {
    const [, key = "", quoted, token = ""] = match;
    // Two of a name are told apart by nobody in the same way.
    if (parameters.has(key.toLowerCase())) throw malformed();
    parameters.set(key.toLowerCase(), decodeName(quoted === undefined ? token.trimEnd() : unquote(quoted)));
  }
  if (!/^[ \t;]*$/.test(disposition.slice(end))) throw malformed();
  return parameters;
}

/** Browsers write a backslash as it is, so only what could not stand there otherwise is taken for escaped. */
function unquote(text: string): string {
  return text.replace(/\\(["\\])/g, "$1");
}

function decodeName(bytes: string): string {
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
  return text.replace(/%(?:0A|0D|22)/g, (escape) => ESCAPES[escape]!);
}

/** A name in the notation of RFC 8187, which some clients use although forms are not to have it. */
function decodeExtended(value: string): string {
  const [, text] = /^utf-8'[^']*'(.*)$/i.exec(value) ?? [];
  try {
    return decodeURIComponent(text ?? value);
  } catch {
    throw malformed();
  }
}

/** The name without folders, and without characters that are not seen or that turn others around. */
function baseName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const cleaned = base.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "").trim();
  return cleaned === "." || cleaned === ".." ? "" : cleaned;
}

function malformed(): HTTPError {
  return new HTTPError(400, "The form has a part whose headers are malformed");
}
