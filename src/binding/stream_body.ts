/** Binds bodies that handlers read themselves. */
import * as v from "valibot";
import { toMilliseconds } from "../base/options.ts";
import type { Limits } from "../http/limits.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { Schema } from "../schema/schema.ts";

/** @ignore What a client may send where a handler reads the body itself. */
export type StreamInput = Blob | BufferSource | ReadableStream<Uint8Array<ArrayBuffer>>;

/** @ignore The declaration of a body that the handler reads, made by {@linkcode Stream}. */
export interface StreamSchema extends Schema<StreamInput, ReadableStream<Uint8Array<ArrayBuffer>>> {
  /** Distinguishes it from the schemas of JSON bodies. */
  readonly type: "stream";
}

const stream = { ...v.instance(ReadableStream), type: "stream" } as unknown as StreamSchema;

/**
 * Declares that the handler reads the body as a stream of bytes. The framework reads nothing of it
 * before the handler is called, or if other input is refused.
 *
 * Its size and time are only limited by the options `limits` of the route itself: `body`, and
 * `readTimeout` for each chunk. The stream fails with an `HTTPError`: 400 if the client
 * disconnects, 413 and 408 beyond these limits. After the reply, the rest of the body is discarded.
 *
 * @example Count bytes as they arrive
 * ```ts
 * import { App, Stream } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.put("/objects/{key}", { body: Stream() }, async (_request, { key, body }) => {
 *   let size = 0;
 *   for await (const chunk of body) size += chunk.length;
 *   return { key, size };
 * });
 * const request = new Request("http://localhost/objects/a", { method: "PUT", body: "some bytes" });
 * const response = await app.fetch(request);
 * assertEquals(await response.json(), { key: "a", size: 10 });
 * ```
 *
 * @category Routes
 */
export function Stream(): StreamSchema {
  return stream;
}

export function isStream(body: Schema): body is StreamSchema {
  return body.type === "stream";
}

/**
 * Prepares a streamed body.
 *
 * @param limits The limits of the route itself.
 * @returns A function that opens the body of a request. It throws an {@linkcode HTTPError} with 413
 * if the announced length is too large.
 */
export function streamOpener(
  { body = Infinity, readTimeout = Infinity }: Limits,
  route: string,
): (request: HttpRequest) => ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunkTime = toMilliseconds(readTimeout, `the readTimeout of ${route}`);
  return (request) => contextOf(request).body.streamWithin(body, chunkTime);
}
