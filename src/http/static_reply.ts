/** Texts that stay the same while the application runs: sent with a tag, and not sent again to whoever has them. */
import { matchesNone } from "./entity_tag.ts";

/** A text, read when it is needed. */
export interface StaticText {
  /** Its media type, with the charset. */
  readonly contentType: string;
  /** Names this version of it, in ASCII without quotes. */
  readonly tag: string;
  /** Gives the text. */
  read(): Promise<string>;
}

/** A tag made of a text: another text has another one. */
export async function tagOf(text: string): Promise<string> {
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
export async function staticReply(
  asked: Headers,
  content: StaticText,
  further: Readonly<Record<string, string>>,
): Promise<Response> {
  const etag = `"${content.tag}"`;
  const headers = { ...further, etag, "x-content-type-options": "nosniff" };
  if (!matchesNone(asked, etag)) return new Response(null, { status: 304, headers });
  return new Response(await content.read(), { headers: { ...headers, "content-type": content.contentType } });
}
