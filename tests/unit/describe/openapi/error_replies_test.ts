import { assertEquals, assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import * as v from "valibot";
import { checkErrorShape, type DocumentedErrors, ErrorReplies } from "../../../../src/describe/openapi/replies.ts";
import { Models } from "../../../../src/describe/json_schema/models.ts";

const Failure = v.pipe(v.object({ error: v.string() }), v.title("Failure"));
const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };

/** What the reply "Problem" of a document holds, and the content type of errors that routes declare. */
function described(documented: DocumentedErrors): unknown {
  const models = new Models("#/components/schemas/");
  const errors = new ErrorReplies(documented);
  errors.of(false);
  const { Problem } = errors.definitions(models);
  models.definitions();
  return [Problem?.content, errors.contentType];
}

Deno.test("Error replies are problems, unless the application says otherwise", () => {
  assertEquals(described("default"), [problem, "application/problem+json"]);
  const failure = { schema: { $ref: "#/components/schemas/Failure" } };
  assertEquals(described({ schema: Failure }), [{ "application/json": failure }, "application/json"]);
  assertEquals(described({ schema: Failure, contentType: "text/x" }), [{ "text/x": failure }, "text/x"]);
});

Deno.test("Where onError says nothing of what it sends, that may be anything beside a problem", () => {
  assertEquals(described("undocumented"), [{ ...problem, "*/*": {} }, "*/*"]);
});

Deno.test("A shape of error replies that no JSON can carry is an error where it is set", () => {
  const shape = { schema: v.object({ tags: v.set(v.string()) }) };
  const message =
    'Cannot set the error handler: cannot describe "error.tags": the kind "set" cannot be written to JSON';
  assertThrows(() => checkErrorShape(shape), TypeError, message);
  assertThrows(() => new App().onError(() => {}, shape), TypeError, message);
});
