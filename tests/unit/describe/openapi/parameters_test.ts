import { assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import * as v from "valibot";
import type { ParameterInput } from "../../../../src/describe/route/inputs.ts";
import { Models } from "../../../../src/describe/json_schema/models.ts";
import { isDescribedElsewhere, Parameters } from "../../../../src/describe/openapi/parameters.ts";

const text = v.string();

/** The parameter of an input, and the models that it refers to. */
function describe(input: Partial<ParameterInput>) {
  const models = new Models("#/components/schemas/");
  const whole = { in: "query", name: "a", schemas: [text], isRepeated: false, isRequired: true, ...input } as const;
  const parameter = new Parameters(models).of(whole, "b");
  return { ...parameter, models: Object.keys(models.definitions()) };
}

Deno.test("A parameter has the name that the document has for it", () => {
  assertEquals(describe({ in: "path", name: "a" }).name, "b");
});

Deno.test("A parameter that several routes share is described once", () => {
  const models = new Models("#/components/schemas/");
  const parameters = new Parameters(models);
  const input = (source: "path" | "query", schema = text): ParameterInput => {
    return { in: source, name: "a", schemas: [schema], isRepeated: false, isRequired: true };
  };
  const one = parameters.of(input("query"), "a");
  assertStrictEquals(parameters.of(input("query"), "a"), one);
  assertEquals(parameters.of(input("query"), "b"), { ...one, name: "b" });
  assertEquals(parameters.of(input("path"), "a"), { ...one, in: "path", schema: { type: "string", minLength: 1 } });
  assertNotStrictEquals(parameters.of(input("query", v.string()), "a"), one);
  const undeclared = { ...input("path"), schemas: [] };
  assertStrictEquals(parameters.of(undeclared, "a"), parameters.of({ ...undeclared }, "a"));
});

Deno.test("Text in a path is never empty", () => {
  assertEquals(describe({ in: "path", schemas: [] }).schema, { type: "string", minLength: 1 });
  assertEquals(describe({ in: "path" }).schema, { type: "string", minLength: 1 });
  assertEquals(describe({ in: "path", schemas: [v.pipe(text, v.minLength(3))] }).schema, {
    type: "string",
    minLength: 3,
  });
  assertEquals(describe({ in: "path", schemas: [v.picklist(["x", "y"])] }).schema, {
    type: "string",
    enum: ["x", "y"],
  });
  assertEquals(describe({ in: "query" }).schema, { type: "string" });
});

Deno.test("Only a list in the query says how it is written: everything else is written as OpenAPI has it by default", () => {
  const schemas = [v.array(text)];
  const { style, explode } = describe({ schemas, isRepeated: true });
  assertEquals([style, explode], ["form", true]);
  assertEquals("style" in describe({ in: "header", schemas }), false);
});

Deno.test("A parameter has the description and the deprecation of its schema", () => {
  const schema = v.pipe(text, v.description("Whom to greet"), v.metadata({ deprecated: true }), v.examples(["Ada"]));
  const { description, deprecated, schema: rest } = describe({ schemas: [schema] });
  assertEquals([description, deprecated], ["Whom to greet", true]);
  assertEquals(rest, { type: "string", examples: ["Ada"] });
});

Deno.test("Equal conditions of several schemas are merged", () => {
  const long = v.pipe(text, v.minLength(3));
  assertEquals(describe({ schemas: [v.string(), v.string()] }).schema, { type: "string" });
  assertEquals(describe({ schemas: [text, long, v.string()] }).schema, { type: "string", minLength: 3 });
  const short = v.pipe(text, v.maxLength(5));
  assertEquals(describe({ schemas: [short, long] }).schema, {
    allOf: [{ type: "string", maxLength: 5 }, { type: "string", minLength: 3 }],
  });
});

Deno.test("A parameter can be a model, and two models stay two", () => {
  const Sort = v.pipe(v.picklist(["title", "price"]), v.title("Sort"), v.description("The order"));
  const Order = v.pipe(v.picklist(["up", "down"]), v.title("Order"));
  assertEquals(describe({ in: "path", schemas: [Sort] }).schema, { $ref: "#/components/schemas/Sort" });
  const { schema, models } = describe({ schemas: [Sort, Order] });
  assertEquals(schema, { allOf: [{ $ref: "#/components/schemas/Sort" }, { $ref: "#/components/schemas/Order" }] });
  assertEquals(models, ["Order", "Sort"]);
});

Deno.test("Accept, Content-Type and Authorization are no parameters to OpenAPI, but cookies of these names are", () => {
  const input = (source: ParameterInput["in"], name: string): ParameterInput => (
    { in: source, name, schemas: [text], isRepeated: false, isRequired: true }
  );
  const headers = ["Accept", "content-type", "AUTHORIZATION", "x-token"].map((name) => input("header", name));
  assertEquals(headers.map(isDescribedElsewhere), [true, true, true, false]);
  assertEquals(isDescribedElsewhere(input("cookie", "authorization")), false);
});
