/** Writes cookies and forms. Loaded late. */
import type { toTexts } from "../base/address.ts";

/** Browsers ignore these cookies, and send their own. */
export function addCookies(
  cookies: Readonly<Record<string, unknown>>,
  headers: Headers,
  write: typeof toTexts,
): void {
  const before = headers.get("cookie");
  const sent = before ? [before] : [];
  for (const [name, value] of Object.entries(cookies)) {
    for (const text of write(value, name)) {
      // RFC 6265, section 4.1.1: cookie-octet.
      if (!/^[!#-+\--:<-[\]-~]*$/.test(text)) {
        throw new TypeError(`Cannot send the cookie "${name}": use encodeURIComponent for its value`);
      }
      sent.push(`${name}=${text}`);
    }
  }
  if (sent.length > 0) headers.set("cookie", sent.join("; "));
}

/** Multipart with files, otherwise urlencoded. */
export function toForm(form: object, write: typeof toTexts): FormData | URLSearchParams {
  const fields: [name: string, value: string | Blob][] = [];
  flatten(form, "", fields, write);
  const isMultipart = fields.some(([, value]) => typeof value !== "string");
  const sent = isMultipart ? new FormData() : new URLSearchParams();
  for (const [name, value] of fields) sent.append(name, value as string);
  return sent;
}

/**
 * Writes brackets: `address[street]`, `items[0][name]`. With the index, one element is an array.
 */
function flatten(value: unknown, name: string, fields: [string, string | Blob][], write: typeof toTexts): void {
  if (value instanceof Blob) return void fields.push([name, value]);
  if (typeof value !== "object" || value === null || value instanceof Date) {
    for (const text of write(value, name)) fields.push([name, text]);
    return;
  }
  for (const [key, part] of Object.entries(value)) {
    if (!/^[^[\]]+$/.test(key)) {
      throw new TypeError(`Cannot send the form: the name "${key}" is empty or has brackets`);
    }
    flatten(part, name === "" ? key : `${name}[${key}]`, fields, write);
  }
}
