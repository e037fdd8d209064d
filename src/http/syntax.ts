/** The forms of texts in headers: RFC 9110, section 5.6. */

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Whether a text is a token, as the names of methods, headers and cookies are (section 5.6.2). */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Writes a text as a quoted string (section 5.6.4). */
export function quotedString(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
