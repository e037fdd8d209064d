import { assertEquals, assertThrows } from "@std/assert";
import { App, Router, type Schema } from "@webfw/core";
import type { RouteDeclaration } from "@webfw/core/types";
import * as v from "valibot";

const answer = async () => null as never;

/** The result of registering a route. */
function refusal(options: RouteDeclaration): string {
  const app = new App();
  const { message } = assertThrows(() => app.post("/books", options as never, answer), TypeError);
  assertEquals(app.routes, []);
  return message;
}

/** Registers a route, and makes the document. */
function describe(options: RouteDeclaration): void {
  const app = new App();
  app.post("/books", options as never, answer);
  app.openapi();
}

Deno.test("A model that JSON cannot represent is an error at registration, with its place and an alternative", () => {
  assertEquals(
    refusal({ response: v.object({ tags: v.array(v.set(v.string())) }) }),
    'Cannot register POST /books: cannot describe "response.tags": the kind "set" cannot be written to JSON, ' +
      "follow it by v.transform((set) => [...set]) and v.array()",
  );
  assertEquals(
    refusal({ responses: { 409: v.object({ file: v.file() }) } }),
    'Cannot register POST /books: cannot describe "response409.file": the kind "file" cannot be written to JSON, ' +
      "reply with the file alone",
  );
  for (const kind of [v.map(v.string(), v.string()), v.function(), v.symbol(), v.promise(), v.blob()] as Schema[]) {
    refusal({ response: v.object({ kind: v.optional(v.union([v.string(), kind as v.GenericSchema])) }) });
  }
});

Deno.test("It is found behind lazy schemas too, of bodies as well", () => {
  const Tree: v.GenericSchema = v.object({ parts: v.lazy(() => v.array(Tree)), at: v.lazy(() => v.date()) });
  refusal({ body: Tree });
  describe({ response: Tree });
  const Endless = (): v.GenericSchema => v.object({ part: v.lazy(Endless.bind(null)) });
  refusal({ response: v.object({ endless: v.lazy(() => Endless()) }) });
});

Deno.test("The values of a stream are checked by their model", () => {
  const router = new Router();
  assertThrows(
    () => router.get("/lines", { response: v.object({ at: v.map(v.string(), v.string()) }) }, async function* () {}),
    TypeError,
    'Cannot register GET /lines: cannot describe "item.at"',
  );
});

Deno.test("A value that JSON represents in another form is not an error", () => {
  class Money {}
  const Sent = v.object({ at: v.date(), nan: v.nan(), price: v.instance(Money), big: v.bigint(), any: v.any() });
  describe({ response: Sent });
  describe({ response: v.file() });
  describe({ response: v.instance(ReadableStream) });
  describe({ body: v.object({ at: v.pipe(v.string(), v.isoTimestamp(), v.toDate()) }), responses: { 204: v.void() } });
});

Deno.test("A lazy schema may refer to a schema that is defined after the registration", () => {
  const app = new App();
  app.post("/books", { response: v.object({ author: v.lazy(() => Author) }) }, answer);
  const Author = v.pipe(v.object({ name: v.string() }), v.title("Author"));
  assertEquals(Object.keys(app.openapi().components.schemas!), ["AnswerResult", "Author", "Problem"]);
});
