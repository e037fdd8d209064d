// The schemas of tools: an object at the root, and only keywords that every client understands.

import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { draft07Compatible, outputOf } from "../../../../src/describe/mcp/tool.ts";
import type { Schema } from "../../../../src/schema/schema.ts";

const Cat = v.object({ kind: v.literal("cat") });
const Dog = v.object({ kind: v.literal("dog") });

interface Tree {
  readonly children: readonly Tree[];
}
const Tree: v.GenericSchema<Tree> = v.object({ children: v.array(v.lazy(() => Tree)) });

Deno.test("A response that is always an object is described unchanged", () => {
  const always: Record<string, Schema> = {
    object: Cat,
    titled: v.pipe(Cat, v.title("Cat")),
    record: v.record(v.string(), v.number()),
    variant: v.variant("kind", [Cat, Dog]),
    union: v.union([Cat, Dog]),
    intersect: v.intersect([Cat, v.object({ name: v.string() })]),
    recursive: Tree,
    titledVariant: v.pipe(v.variant("kind", [v.pipe(Cat, v.title("Cat")), Dog]), v.title("Pet")),
    instance: v.pipe(v.string(), v.transform((name) => ({ name })), v.object({ name: v.string() })),
  };
  for (const [name, schema] of Object.entries(always)) {
    const { form, schema: root } = outputOf(schema);
    assertEquals([name, form, root?.type, root?.$ref], [name, "object", "object", undefined]);
  }
});

Deno.test("A response that is something else, or may be, is wrapped", () => {
  const others: Record<string, Schema> = {
    string: v.string(),
    list: v.array(Cat),
    tuple: v.tuple([v.string()]),
    nullable: v.nullable(Cat),
    union: v.union([Cat, v.array(Dog)]),
    date: v.date(),
    any: v.any(),
    recursiveList: v.array(Tree),
  };
  for (const [name, schema] of Object.entries(others)) {
    const { form, schema: root } = outputOf(schema);
    const required = name === "any" ? undefined : ["result"];
    assertEquals([name, form, root?.type, root?.required], [name, "wrapped", "object", required]);
  }
});

Deno.test("A response that may be missing is wrapped, and its result may be missing", () => {
  const { form, schema } = outputOf(v.optional(Cat));
  assertEquals([form, schema?.required], ["wrapped", undefined]);
});

Deno.test("A response without a model, or a file, is not described", () => {
  for (const response of [undefined, v.blob(), v.file(), v.pipe(v.blob(), v.mimeType(["image/png"]))]) {
    assertEquals(outputOf(response), { form: "open" });
  }
});

Deno.test("A schema has the definitions that it refers to, and no others", () => {
  const Titled = v.pipe(Cat, v.title("Cat"));
  assertEquals(outputOf(Titled).schema?.$defs, undefined);
  const Pair = v.pipe(v.object({ one: Titled, other: Titled }), v.title("Pair"));
  assertEquals(Object.keys(outputOf(Pair).schema?.$defs ?? {}), ["Cat"]);
  const { schema } = outputOf(Tree);
  assertEquals(JSON.stringify(schema).match(/"\$ref"/g)?.length, 2);
});

Deno.test("A tuple has no items: clients of draft-07 would apply them to all elements", () => {
  assertEquals(draft07Compatible({ prefixItems: [{ type: "string" }], items: { type: "number" } }), {
    prefixItems: [{ type: "string" }],
  });
  assertEquals(draft07Compatible({ type: "array", items: false }), { type: "array", items: false });
});

Deno.test("Each schema has one type", () => {
  assertEquals(draft07Compatible({ title: "T", default: null, type: ["string", "null"], minLength: 1 }), {
    title: "T",
    default: null,
    anyOf: [{ type: "string", minLength: 1 }, { type: "null" }],
  });
  assertEquals(draft07Compatible({ type: ["string", "null"], enum: ["a", null] }), { enum: ["a", null] });
});

Deno.test("Data, and names that the application chose, stay as they are", () => {
  const data = { type: ["a", "b"], prefixItems: [], items: false };
  const schema = {
    properties: { default: { type: "string" }, items: { const: data } },
    examples: [data],
    enum: [data],
  };
  assertEquals(draft07Compatible(schema as never), schema as never);
  const named = {
    properties: { default: { type: ["string", "null"] as const } },
    $defs: { enum: { prefixItems: [{}], items: {} } },
  };
  assertEquals(draft07Compatible(named as never), {
    properties: { default: { anyOf: [{ type: "string" }, { type: "null" }] } },
    $defs: { enum: { prefixItems: [{}] } },
  });
});
