/** JSON in and out. */
import { HTTPError } from "../errors.ts";
import { refuseCoded } from "./body_refusal.ts";

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
