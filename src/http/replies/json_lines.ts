/** Declares that a route answers with lines of JSON. */
import {
  type GivenSchema,
  isSchema,
  type JsonForm,
  type Mistake,
  type Schema,
  schemaFault,
} from "../../schema/schema.ts";
import { DECLARED } from "./declared_reply.ts";
import type { Returned } from "./returned.ts";

/**
 * A reply of lines of JSON, made by {@linkcode JsonLines}. `Input` is what the handler gives,
 * `Line` what a line holds.
 */
export interface JsonLinesReply<Input, Line> extends Schema<AsyncIterable<Returned<Input>>, Line> {
  /** Distinguishes it from the schemas of JSON replies. */
  readonly type: "json_lines";
  /** What an `async function*` yields; for types alone. */
  readonly "~yields": Returned<Input>;
  /** What a call of a typed client gives; for types alone. */
  readonly "~as": AsyncIterable<JsonForm<Line>>;
  /** The schema of each line. */
  readonly item: Schema;
}

/**
 * Declares, as the `response` of a route, that it answers with lines of JSON (`application/jsonl`),
 * each of which fits a schema.
 *
 * The handler returns an async iterable, or is an `async function*`. Each value is validated and
 * reduced to the schema, so that no other data leaks. If the first value does not fit, the reply is
 * a 500. A later one breaks the reply off; it is never sent. A stop of the server breaks it off,
 * too: a client never takes half of the lines for all of them. The lines are sent as fast as the
 * client takes them.
 *
 * @param line The schema of a line.
 * @throws {TypeError} If it is not a schema.
 *
 * @example A long list
 * ```ts
 * import { App, JsonLines } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * app.get("/books", { response: JsonLines(v.object({ title: v.string() })) }, async function* () {
 *   yield { title: "Emma" };
 *   yield { title: "Middlemarch" };
 * });
 * const response = await app.fetch(new Request("http://localhost/books"));
 * assertEquals(response.headers.get("content-type"), "application/jsonl");
 * assertEquals(await response.text(), '{"title":"Emma"}\n{"title":"Middlemarch"}\n');
 * ```
 *
 * @category Streams
 */
export function JsonLines<Input, Line>(
  line: GivenSchema<Input, Line> | Mistake<"Give one valibot schema, such as v.object({ … })">,
): JsonLinesReply<Input, Line> {
  if (!isSchema(line)) throw new TypeError(`Cannot declare a reply by JsonLines(): the argument ${schemaFault(line)}`);
  // The types alone say what a handler yields, and what a client gets.
  return Object.freeze({ ...DECLARED, type: "json_lines", item: line }) as unknown as JsonLinesReply<Input, Line>;
}
