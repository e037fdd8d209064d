import { assertEquals } from "@std/assert";
import { dependency } from "@webfw/core";
import * as v from "valibot";
import { inputsOf } from "../../../../src/describe/route/inputs.ts";

const text = v.string();

Deno.test("Inputs are those of the path, of the handler, and of each dependency once, in this order", () => {
  const inner = dependency({ cookies: { sid: text } }, async () => 1);
  const outer = dependency({ deps: { inner }, query: { lang: text } }, async () => 2);
  const { parameters } = inputsOf({ query: { q: text }, deps: { outer, inner } }, ["a", "b"]);
  assertEquals(parameters.map(({ in: source, name }) => `${source} ${name}`), [
    "path a",
    "path b",
    "query q",
    "cookie sid",
    "query lang",
  ]);
});

Deno.test("Inputs of one name are one input, with the conditions of all", () => {
  const other = v.pipe(v.string(), v.minLength(3));
  const first = dependency({ query: { q: text }, headers: { "X-Token": text } }, async () => 1);
  const second = dependency({ query: { q: v.optional(other) }, headers: { "x-token": text } }, async () => 2);
  const { parameters } = inputsOf({ query: { q: v.optional(text) }, deps: { first, second } }, []);
  assertEquals(parameters.map(({ name, schemas, isRequired }) => [name, schemas.length, isRequired]), [
    ["q", 3, true],
    ["X-Token", 1, true],
  ]);
});

Deno.test("A query parameter with a name of the path reads the path", () => {
  const user = dependency({ query: { id: v.number() } }, async () => 1);
  const { parameters } = inputsOf({ query: { shop: text }, deps: { user } }, ["shop", "id"]);
  assertEquals(parameters.map(({ in: source, name, schemas }) => [source, name, schemas[0]?.type]), [
    ["path", "shop", "string"],
    ["path", "id", "number"],
  ]);
});

Deno.test("An input of the path is always required, any other unless its schema takes that nothing is sent", () => {
  const { parameters, body } = inputsOf({
    params: { id: v.optional(text) },
    query: { a: v.optional(text), b: v.nullable(text), c: v.array(text), d: v.fallback(text, "") },
    body: v.optional(v.object({})),
  }, ["id"]);
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  assertEquals([required, body?.isRequired], [["id", "b", "c"], false]);
});

Deno.test("Only lists in the query are sent by a repeated name", () => {
  const list = v.optional(v.array(text));
  const { parameters } = inputsOf({ query: { list, text }, headers: { "x-list": list } }, []);
  assertEquals(parameters.map(({ isRepeated }) => isRepeated), [true, false, false]);
});

Deno.test("Input can be invalid if a schema can refuse it", () => {
  const always = [
    {},
    { params: { id: text } },
    { params: { id: v.pipe(text, v.title("Title")) } },
    { params: { id: v.fallback(v.number(), 1) } },
    { headers: { a: v.optional(text) }, cookies: { b: v.nullish(v.unknown(), "") } },
    { query: { a: v.optional(v.array(text)) } },
    { body: v.any() },
    { body: v.fallback(v.object({}), {}) },
  ];
  const sometimes = [
    { params: { id: v.number() } },
    { params: { id: v.pipe(text, v.trim()) } },
    { params: { id: v.pipe(v.fallback(text, ""), v.minLength(1)) } },
    { headers: { a: text } },
    { headers: { a: v.optional(v.pipe(text, v.email())) } },
    { query: { a: v.optional(text) } },
    { query: { a: v.array(text) } },
    { query: { a: v.optional(v.array(v.number())) } },
    { body: v.array(v.any()) },
    { body: v.optional(text) },
  ];
  assertEquals(always.map((declared) => inputsOf(declared, ["id"]).canBeInvalid), always.map(() => false));
  assertEquals(sometimes.map((declared) => inputsOf(declared, ["id"]).canBeInvalid), sometimes.map(() => true));
});
