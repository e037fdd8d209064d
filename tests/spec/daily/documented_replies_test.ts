// "`responses` takes `default`, "4XX", "5XX"; an entry may be a schema, a declared reply, an array of alternatives for
// one status, or { schema, contentType, description, headers, examples, links }. A 2xx beside `response` in `responses`
// is documentation alone. `body` and `responses` take named examples."

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, Bytes, Events, Form, Html, HTTPError, Problem, Router, Text } from "@webfw/core";
import type { JsonSchema, OpenAPIResponse } from "@webfw/core/openapi";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

const Item = v.pipe(v.object({ id: v.string() }), v.title("Item"));
const Taken = v.pipe(v.object({ by: v.string() }), v.title("Taken"));
const ITEM = { $ref: "#/components/schemas/Item" };
const TAKEN = { $ref: "#/components/schemas/Taken" };
const PROBLEM = { $ref: "#/components/schemas/Problem" };
const TEXT: JsonSchema = { type: "string" };
const BYTES: JsonSchema = { type: "string", format: "binary" };
const answer = async () => new Response();

function repliesOf(app: App): Record<string, OpenAPIResponse> {
  const { get, post } = app.openapi().paths["/"]!;
  return (get ?? post)!.responses as Record<string, OpenAPIResponse>;
}

Deno.test("Ranges replace the replies that each operation has, and `default` replaces both", () => {
  const ranges = new App();
  ranges.get("/", { responses: { "4XX": Taken, "5XX": { description: "Broken." } } }, answer);
  const replies = repliesOf(ranges);
  assertEquals(replies["4XX"], {
    description: "The request was refused.",
    content: { "application/json": { schema: TAKEN } },
  });
  assertEquals(replies["5XX"], { description: "Broken." });
  assertEquals(ranges.openapi().components.responses, {});

  const others = new App();
  others.post("/", { body: Item, responses: { "5XX": Html(), default: Problem } }, answer);
  assertEquals(Object.keys(repliesOf(others)), ["200", "422", "5XX", "default"]);
  assertEquals(repliesOf(others).default, {
    description: "Any other reply.",
    content: { "application/problem+json": { schema: PROBLEM } },
  });
  assertEquals(repliesOf(others)["5XX"]!.content, { "text/html": { schema: TEXT } });
});

Deno.test("Those of a route replace those of its scopes, range by range", () => {
  const router = new Router({ responses: { "4XX": Taken, default: Item } });
  router.get("/", { responses: { "4XX": Text() } }, answer);
  const app = new App({ responses: { "5XX": Item } });
  app.include(router);
  const replies = repliesOf(app);
  assertEquals(replies["4XX"]!.content, { "text/plain": { schema: TEXT } });
  assertEquals(replies["5XX"]!.content, { "application/json": { schema: ITEM } });
  assertEquals(replies.default!.content, { "application/json": { schema: ITEM } });
});

Deno.test("Alternatives of one status share its reply, by media type", () => {
  const app = new App();
  const alternatives = [
    v.pipe(Taken, v.description("Somebody has it.")),
    { schema: Problem, description: "It is closed.", headers: { "retry-after": v.string() } },
    { schema: Item, description: "It is closed." },
    { schema: v.object({ until: v.string() }), contentType: "application/json; charset=utf-8" },
    Bytes("image/png"),
  ];
  app.get("/", { responses: { 409: alternatives } }, answer);
  const { description, headers, content } = repliesOf(app)[409]!;
  assertEquals(description, "Somebody has it.\n\nIt is closed.");
  assertEquals(headers, { "retry-after": { schema: TEXT } });
  assertEquals(content, {
    "application/json": {
      schema: {
        anyOf: [
          { allOf: [TAKEN], description: "Somebody has it." },
          ITEM,
          { $ref: "#/components/schemas/AnswerResult409Alternative4" },
        ],
      },
    },
    "application/problem+json": { schema: PROBLEM },
    "image/png": { schema: BYTES },
  });
});

Deno.test("Equal alternatives are one schema", () => {
  const app = new App();
  app.get("/", { responses: { 404: [{ schema: Item, description: "No item." }, { schema: Item }] } }, answer);
  assertEquals(repliesOf(app)[404], {
    description: "No item.",
    content: { "application/json": { schema: ITEM } },
  });
});

Deno.test("A success in `responses` is documentation alone, beside `response` and for its status", async () => {
  const app = new App();
  app.get("/", {
    response: Item,
    responses: { 200: { schema: Bytes("image/png"), description: "The item, or its picture." }, 201: Taken },
  }, async () => ({ id: "a" }));
  assertEquals(repliesOf(app)[200], {
    description: "The item, or its picture.",
    content: { "application/json": { schema: ITEM }, "image/png": { schema: BYTES } },
  });
  assertEquals(repliesOf(app)[201]!.content, { "application/json": { schema: TAKEN } });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), { id: "a" });

  const both = new App();
  both.get("/", { response: Item, responses: { 200: Taken } }, async () => ({ id: "a" }));
  assertEquals(repliesOf(both)[200]!.content, { "application/json": { schema: { anyOf: [ITEM, TAKEN] } } });
});

Deno.test("`contentType` is that of any schema, and stands alone for other content", () => {
  const app = new App();
  app.get("/", {
    responses: {
      200: { schema: Item, contentType: "application/vnd.shop+json" },
      206: { schema: v.file(), contentType: "application/pdf" },
      210: { schema: v.string(), contentType: "text/csv; header=present" },
      404: { schema: Taken, contentType: "application/problem+json" },
      503: { contentType: "text/html", description: "Busy" },
    },
  }, answer);
  const contents = Object.values(repliesOf(app)).map(({ content }) => content);
  assertEquals(contents.slice(0, 5), [
    { "application/vnd.shop+json": { schema: ITEM } },
    { "application/pdf": { schema: BYTES } },
    { "text/csv": { schema: TEXT } },
    { "application/problem+json": { schema: TAKEN } },
    { "text/html": {} },
  ]);
});

Deno.test("Named examples stand with the content, and those without content with all of it", () => {
  const app = new App();
  const at = new Date(0);
  app.post("/", {
    body: v.object({ price: v.number() }),
    examples: { body: { normal: { summary: "A price", value: { price: 3 } }, wrong: { value: { price: "three" } } } },
    response: Item,
    responses: {
      200: { examples: { first: { description: "The first *item*", value: { id: "a" } } } },
      404: { schema: Problem, examples: { none: { value: { at, big: 7n } } } },
      409: { examples: { taken: { value: { status: 409 } } } },
      410: [{ schema: Item, examples: { a: { value: 1 } } }, { schema: Taken, examples: { b: { value: 2 } } }],
    },
  }, async () => ({ id: "" }));
  const { requestBody } = app.openapi().paths["/"]!.post!;
  assertEquals(requestBody!.content["application/json"]!.examples, {
    normal: { summary: "A price", value: { price: 3 } },
    wrong: { value: { price: "three" } },
  });
  const replies = repliesOf(app);
  assertEquals(replies[200]!.content, {
    "application/json": { schema: ITEM, examples: { first: { description: "The first *item*", value: { id: "a" } } } },
  });
  assertEquals(replies[404]!.content!["application/problem+json"]!.examples, {
    none: { value: { at: at.toJSON(), big: "7" } },
  });
  assertEquals(replies[409]!.content, {
    "application/problem+json": { examples: { taken: { value: { status: 409 } } } },
  });
  assertEquals(replies[410]!.content!["application/json"]!.examples, { a: { value: 1 }, b: { value: 2 } });

  const forms = new App();
  const form = Form(v.object({ name: v.string() }));
  forms.post("/", { form, examples: { form: { ada: { value: { name: "Ada" } } } } }, answer);
  const content = forms.openapi().paths["/"]!.post!.requestBody!.content;
  assertEquals(Object.values(content)[0]!.examples, { ada: { value: { name: "Ada" } } });
});

Deno.test("Links name operations of the document", () => {
  const app = new App();
  const links = { item: { operationId: "getItem", parameters: { id: "$response.body#/id" } } };
  app.post("/", { status: 201, response: Item, responses: { 201: { links } } }, async () => ({ id: "a" }));
  app.get("/items/{id}", async function getItem() {});
  assertEquals(repliesOf(app)[201]!.links, links);

  const dangling = new App();
  dangling.post("/", { responses: { 201: { links: { item: { operationId: "getItm" } } } } }, answer);
  dangling.get("/items/{id}", async function getItem() {});
  assertThrows(
    () => dangling.openapi(),
    TypeError,
    'Cannot describe POST /: its link "item" names the operation "getItm", which the document does not have; ' +
      'the nearest is "getItem"',
  );
});

Deno.test("A stream without `response` takes its items from the first alternative", () => {
  const app = new App();
  app.get("/", { responses: { 200: [Item, Events(Taken)] } }, async function* () {
    yield { id: "a" };
  });
  const { content } = repliesOf(app)[200]!;
  assertEquals(Object.keys(content!), ["application/jsonl", "text/event-stream"]);
  assertEquals(content!["application/jsonl"], { "x-itemSchema": ITEM });
});

Deno.test("What the client and `problem` know of errors is what is sent, whatever is documented", async () => {
  const app = new App();
  app.get("/", { responses: { default: Taken, 409: [Taken, Item] } }, async () => {
    throw new HTTPError(409, "Taken", { extensions: { by: "Ada" } });
  });
  await using client = new TestClient(app);
  const { detail, by } = await client.get("/").problem(409);
  assertEquals([detail, by], ["Taken", "Ada"]);
});

Deno.test("A mistake throws at the declaration, with the place and the cure", () => {
  // deno-lint-ignore no-explicit-any -- mistakes
  const messageOf = (options: any): string =>
    assertThrows(() => new App().post("/", options, async () => {}), TypeError).message;
  const cases: readonly (readonly [options: object, ...parts: readonly string[]])[] = [
    [{ responses: { "4xx": Item } }, '"responses" has "4xx", which is not a status', '"4XX", "5XX" or default'],
    [{ responses: { "2XX": Item } }, '"responses" has "2XX"'],
    [{ responses: { 404: [] } }, '"404" has no alternative, write [Schema, { schema, description }]'],
    [{ responses: { 404: [Item, "x"] } }, '"404[1]" must be a valibot schema'],
    [{ responses: { 404: [{ schema: 1 }] } }, '"responses.404[0].schema" must be a valibot schema'],
    [{ responses: { 404: { schema: Item, exmples: {} } } }, '"responses.404.exmples"', "examples"],
    [{ responses: { 404: { schema: Item, contentType: "json" } } }, '"responses.404.contentType" must be a media type'],
    [
      { responses: { 404: { schema: Text(), contentType: "text/csv" } } },
      '"responses.404.contentType" is that of the schema, which declares a reply: leave it out',
    ],
    [{ responses: { 404: { schema: Item, examples: [1] } } }, '"responses.404.examples" must be an object, write'],
    [{ responses: { 404: { examples: { a: 1 } } } }, '"responses.404.examples.a" must be an object'],
    [{ responses: { 404: { examples: { a: {} } } } }, '"responses.404.examples.a" has no value, write { value: … }'],
    [{ responses: { 404: { examples: { a: { value: 1, sumary: "" } } } } }, "responses.404.examples.a.sumary"],
    [{ responses: { 404: { examples: { a: { value: () => 1 } } } } }, 'examples.a.value" is not JSON'],
    [{ responses: { 404: { links: { "a b": { operationId: "x" } } } } }, '"a b" in "responses.404.links"'],
    [{ responses: { 404: { links: { a: {} } } } }, '"responses.404.links.a" must name one operation'],
    [{ examples: { body: { a: { value: 1 } } } }, '"examples.body" has examples of no body, declare "body"'],
    [{ body: Item, examples: { bdy: {} } }, "examples.bdy", "examples.body"],
    [{ body: Item, examples: { body: { a: { value: Symbol() } } } }, '"examples.body.a.value" is not JSON'],
  ];
  for (const [options, ...parts] of cases) {
    const message = messageOf(options);
    for (const part of ["Cannot register POST /", ...parts]) assertStringIncludes(message, part);
  }
});
