/** Writes cookies. Loaded with the first call that has some. */
import type { toTexts } from "./text.ts";

/** What a cookie's value consists of: RFC 6265, section 4.1.1. */
const COOKIE_VALUE = /^[!#-+\--:<-[\]-~]*$/;

/**
 * Adds cookies to the headers of a request. Browsers leave them out, and send their own.
 *
 * @param cookies The cookies by their names. One that is undefined is not sent.
 * @param headers The headers.
 * @param write Writes a value.
 * @throws {TypeError} If a value cannot be sent.
 */
export function addCookies(
  cookies: Readonly<Record<string, unknown>>,
  headers: Headers,
  write: typeof toTexts,
): void {
  const before = headers.get("cookie");
  const sent = before ? [before] : [];
  for (const [name, value] of Object.entries(cookies)) {
    for (const text of write(value, name)) {
      if (!COOKIE_VALUE.test(text)) {
        throw new TypeError(`Cannot send the cookie "${name}": use encodeURIComponent for its value`);
      }
      sent.push(`${name}=${text}`);
    }
  }
  if (sent.length > 0) headers.set("cookie", sent.join("; "));
}
