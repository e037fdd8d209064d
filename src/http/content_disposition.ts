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
