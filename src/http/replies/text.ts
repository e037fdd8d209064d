/** Declares that a route answers with text. */
import type { Mistake, Schema } from "../../schema/schema.ts";
import { checkMediaType, DECLARED, type ReceivedAs } from "./declared_reply.ts";

/**
 * A reply of text, made by {@linkcode Text} or {@linkcode Html}. `As` is what a call of a typed
 * client gives.
 */
export interface TextReply<As = string> extends Schema<string, string> {
  /** Distinguishes it from the schemas of JSON replies. */
  readonly type: "text";
  /** That a handler returns it; for types alone. */
  readonly "~yields": Mistake<"Return a string from an async function">;
  /** What a call of a typed client gives; for types alone. */
  readonly "~as": As;
  /** The media type. */
  readonly mediaType: string;
}

/**
 * Declares, as the `response` of a route, that it answers with text of a media type. The handler
 * returns a string, which is sent as it is, in UTF-8. A typed client gets the string, or what it
 * means if the media type is one of JSON.
 *
 * @param mediaType The media type. A `charset` is added if it has none.
 * @throws {TypeError} If it is not a media type.
 *
 * @example Rows with commas
 * ```ts
 * import { App, Text } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/books.csv", { response: Text("text/csv") }, async () => "title,year\r\nEmma,1815\r\n");
 * const response = await app.fetch(new Request("http://localhost/books.csv"));
 * assertEquals(response.headers.get("content-type"), "text/csv;charset=UTF-8");
 * assertEquals(await response.text(), "title,year\r\nEmma,1815\r\n");
 * ```
 *
 * @category Requests and replies
 */
export function Text<const Type extends string>(
  mediaType: Type | "text/plain" = "text/plain",
): TextReply<ReceivedAs<Type, string>> {
  // The types alone say what a handler yields, and what a client gets.
  const reply = { ...DECLARED, type: "text", mediaType: checkMediaType(mediaType, "Text") };
  return Object.freeze(reply) as unknown as TextReply<ReceivedAs<Type, string>>;
}

/**
 * Declares, as the `response` of a route, that it answers with a page. The handler returns the
 * markup. Nothing is escaped: the template that makes the markup has to do it.
 *
 * @example A page
 * ```ts
 * import { App, Html } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/", { response: Html() }, async () => "<h1>Books</h1>");
 * const response = await app.fetch(new Request("http://localhost/"));
 * assertEquals(response.headers.get("content-type"), "text/html;charset=UTF-8");
 * assertEquals(await response.text(), "<h1>Books</h1>");
 * ```
 *
 * @category Requests and replies
 */
export function Html(): TextReply {
  return Text("text/html");
}
