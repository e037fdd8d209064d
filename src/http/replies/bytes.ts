/** Declares that a route answers with bytes. */
import type { Mistake, Schema } from "../../schema/schema.ts";
import { checkMediaType, DECLARED, type ReceivedAs } from "./declared_reply.ts";

/** A reply of bytes, made by {@linkcode Bytes}. `As` is what a call of a typed client gives. */
export interface BytesReply<As = Blob> extends Schema<Blob | ReadableStream<Uint8Array> | Uint8Array, Blob> {
  /** Distinguishes it from the schemas of JSON replies. */
  readonly type: "bytes";
  /** That a handler returns them; for types alone. */
  readonly "~yields": Mistake<"Return a ReadableStream, a Blob or a Uint8Array from an async function">;
  /** What a call of a typed client gives; for types alone. */
  readonly "~as": As;
  /** The media type. */
  readonly mediaType: string;
}

/**
 * Declares, as the `response` of a route, that it answers with bytes of a media type.
 *
 * The handler returns a `Blob`, a `ReadableStream` of bytes, a `Uint8Array`, or `file(…)`. The
 * content type of the reply is the declared one, whatever type the blob or file has. A blob or file
 * answers conditional requests and ranges as without a declaration. A typed client gets a `Blob`,
 * or what the bytes mean if the media type is one of JSON or has a `charset`.
 *
 * @param mediaType The media type. It is no range such as `image/*`: leave the reply undeclared, or
 * declare `v.blob()`, to send each blob with its own type.
 * @throws {TypeError} If it is not a media type.
 *
 * @example A picture
 * ```ts
 * import { App, Bytes } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/dot", { response: Bytes("image/gif") }, async () => {
 *   return Uint8Array.fromBase64("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7");
 * });
 * const response = await app.fetch(new Request("http://localhost/dot"));
 * assertEquals(response.headers.get("content-type"), "image/gif");
 * assertEquals((await response.bytes()).length, 42);
 * ```
 *
 * @category Requests and replies
 */
export function Bytes<const Type extends string>(
  mediaType: Type | "application/octet-stream" = "application/octet-stream",
): BytesReply<ReceivedBytes<Type>> {
  // The types alone say what a handler yields, and what a client gets.
  const reply = { ...DECLARED, type: "bytes", mediaType: checkMediaType(mediaType, "Bytes") };
  return Object.freeze(reply) as unknown as BytesReply<ReceivedBytes<Type>>;
}

/** What a call of a typed client gives: text where its `charset` is named. */
export type ReceivedBytes<Type extends string> = ReceivedAs<
  Type,
  Lowercase<Type> extends `${string}charset=${string}` ? string : Blob
>;
