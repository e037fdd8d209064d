import { HTTPError } from "../errors.ts";
import { isStackOverflow } from "../schema/stack.ts";

/** Media types of requests. */

/** The media type without its parameters, in lower case; empty where none was sent. */
export function mediaTypeOf(headers: Headers): string {
  const header = headers.get("content-type");
  if (header === null) return "";
  const end = header.indexOf(";");
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** Tells whether a body of this content type is JSON in UTF-8 (RFC 8259, and RFC 6839 for `+json`). */
export function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  if (contentType === null) return false;
  const [type = "", ...parameters] = contentType.toLowerCase().split(";");
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type.trim())) return false;
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset);
}

/** The errors of bodies that are not taken. */

/** The rest of such a body is not read: the client is told not to send it. */
const CLOSE = { connection: "close" };

/** More bytes than are allowed. */
export function tooLarge(limit: number, what = "The body is"): HTTPError {
  return new HTTPError(413, `${what} larger than ${limit} bytes`, { headers: CLOSE });
}

/** More fields than are allowed. */
export function tooManyFields(limit: number): HTTPError {
  return new HTTPError(413, `The form has more than ${limit} fields`, { headers: CLOSE });
}

/**
 * Refuses what is compressed, or coded in another way (RFC 9110, sections 8.4 and 15.5.16).
 *
 * @throws {HTTPError} With 415.
 */
export function refuseCoded(headers: Headers): void {
  const coding = headers.get("content-encoding")?.trim() ?? "";
  if (coding === "" || coding.toLowerCase() === "identity") return;
  throw new HTTPError(415, "The body must be sent as it is, without a content-encoding", {
    headers: { "accept-encoding": "identity" },
  });
}

/**
 * The body did not arrive within its time: that of the limits, or what a server that stops leaves
 * it.
 */
export function tooSlow(isStopping: boolean): HTTPError {
  if (isStopping) return new HTTPError(503, "The server stops", { headers: CLOSE });
  return new HTTPError(408, "The body did not arrive in time", { headers: CLOSE });
}

/** A body that breaks off is the client's fault, or it has gone; either way no fault of the application. */
export function cutShort(cause: unknown): unknown {
  return cause instanceof HTTPError ? cause : new HTTPError(400, "The body was cut short", { cause });
}

/**
 * Refuses a body whose nesting the stack does not hold: a recursive schema follows it.
 *
 * @throws {HTTPError} With 400, or whatever else was thrown.
 */
export function refuseDepth(error: unknown): never {
  throw isStackOverflow(error) ? new HTTPError(400, "The body is nested too deeply") : error;
}

/** A stream within bounds: of its size, and of the time that each of its chunks may take. */

type Chunk = Uint8Array<ArrayBuffer>;

/**
 * A stream that fails where its source goes beyond a bound.
 *
 * @param source What is read, whenever it is asked for. It is cancelled where the stream fails, or its reader goes.
 * @param size How many bytes it may have. It fails with 413 where there are more.
 * @param inTime Waits for a chunk, but not for ever.
 */
export function boundedStream(
  source: ReadableStream<Chunk>,
  size: number,
  inTime: <T>(reading: Promise<T>) => Promise<T>,
): ReadableStream<Chunk> {
  const reader = source.getReader();
  let total = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await inTime(reader.read());
        if (done) return controller.close();
        total += value.length;
        if (total > size) throw tooLarge(size);
        controller.enqueue(value);
      } catch (error) {
        reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** JSON in and out. */

/**
 * Parses JSON that came from a client.
 *
 * @param text The body.
 * @param headers Those that came with it.
 * @throws {HTTPError} With 400; the parser's own message would repeat what was sent. With 415 where it is compressed.
 */
export function parseJson(text: string, headers: Headers): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Only now, since nothing that is compressed is JSON: a look at each body's headers can be measured.
    refuseCoded(headers);
    throw new HTTPError(400, "The body is not well-formed JSON");
  }
}

/**
 * JSON of a value. A bigint becomes a string of digits.
 *
 * @throws {TypeError} When the value has no JSON form.
 */
export function stringify(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    // The replacer makes the common case three times slower: it is used only where a bigint was met.
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) {
      throw error;
    }
    json = JSON.stringify(
      value,
      (_key, part) => typeof part === "bigint" ? part.toString() : part,
    );
  }
  if (json === undefined) {
    throw new TypeError(
      `Cannot write a value of type ${typeof value}: it has no JSON form`,
    );
  }
  return json;
}
