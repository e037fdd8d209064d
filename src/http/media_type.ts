/** Media types of requests. */

/** The media type without its parameters, in lower case; empty where none was sent. */
export function mediaTypeOf(headers: Headers): string {
  const header = headers.get("content-type");
  if (header === null) return "";
  const end = header.indexOf(";");
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** Tells whether a body of this content type is JSON in UTF-8 (RFC 8259, and RFC 6839 for `+json`). */
export function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  if (contentType === null) return false;
  const [type = "", ...parameters] = contentType.toLowerCase().split(";");
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type.trim())) return false;
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset);
}
