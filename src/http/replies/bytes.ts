/** Declares that a route answers with bytes. */
import type { Mistake, Schema } from "../../schema/schema.ts";
import { checkMediaType, DECLARED } from "./declared_reply.ts";

/** A reply of bytes, made by {@linkcode Bytes}. */
export interface BytesReply extends Schema<Blob | ReadableStream<Uint8Array> | Uint8Array, Blob> {
  /** Distinguishes it from the schemas of JSON replies. */
  readonly type: "bytes";
  /** That a handler returns them; for types alone. */
  readonly "~yields": Mistake<"Return a ReadableStream, a Blob or a Uint8Array from an async function">;
  /** What a call of a typed client gives; for types alone. */
  readonly "~as": Blob;
  /** The media type. */
  readonly mediaType: string;
}

/**
 * Declares, as the `response` of a route, that it answers with bytes of a media type.
 *
 * The handler returns a `Blob`, a `ReadableStream` of bytes, a `Uint8Array`, or `file(…)`. The
 * content type of the reply is the declared one, whatever type the blob or file has. A blob or file
 * answers conditional requests and ranges as without a declaration.
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
export function Bytes(mediaType: string = "application/octet-stream"): BytesReply {
  // The types alone say what a handler yields, and what a client gets.
  const reply = { ...DECLARED, type: "bytes", mediaType: checkMediaType(mediaType, "Bytes") };
  return Object.freeze(reply) as unknown as BytesReply;
}
