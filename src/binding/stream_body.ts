/** Bodies that handlers read themselves. */
import * as v from "valibot";
import { toMilliseconds } from "../duration.ts";
import type { Limits } from "../http/limits.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { Schema } from "../schema/schema.ts";

/** A body as it comes, made by {@linkcode Stream}. */
export interface StreamSchema extends Schema<unknown, ReadableStream<Uint8Array<ArrayBuffer>>> {
  /** Tells it from what is read as JSON. */
  readonly type: "stream";
}

const stream = { ...v.instance(ReadableStream), type: "stream" } as unknown as StreamSchema;

/**
 * Declares that the handler reads the body itself, as a stream of bytes. Nothing of it has been read when the handler is called,
 * or when other input is refused.
 *
 * It may be of any size and take any time, but for what the route itself sets in its limits: `body`, and `readTimeout` for each
 * chunk. The stream fails with an `HTTPError`: 400 where the client breaks off, 413 and 408 beyond those limits. What the handler
 * leaves unread is let go when the reply has gone.
 *
 * @example Bytes are counted as they come
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
 */
export function Stream(): StreamSchema {
  return stream;
}

/** Whether a body is declared as a stream. */
export function isStream(body: Schema): body is StreamSchema {
  return body.type === "stream";
}

/**
 * Prepares a body that the handler reads.
 *
 * @param limits What the route itself sets.
 * @param owner The route, for messages.
 * @returns Gives the body of a request. Throws an {@linkcode HTTPError} with 413 where it is announced to be too large.
 */
export function streamOpener(
  { body = Infinity, readTimeout = Infinity }: Limits,
  owner: string,
): (request: HttpRequest) => ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunkTime = toMilliseconds(readTimeout, `the readTimeout of ${owner}`);
  return (request) => contextOf(request).body.streamWithin(body, chunkTime);
}
