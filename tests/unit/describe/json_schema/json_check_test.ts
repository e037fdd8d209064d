// What is taken for describable at a look can be described, and what is not is found.

import { assertEquals, assertStringIncludes } from "@std/assert";
import * as v from "valibot";
import { faultOf, Models } from "../../../../src/describe/json_schema/models.ts";
import type { Schema } from "../../../../src/schema/schema.ts";

enum Color {
  Red = "red",
}

/** Schemas of every kind that is plain, around another one. */
function around(inner: v.GenericSchema): Schema[] {
  const object = { inner, other: v.optional(inner) };
  return [
    v.array(inner),
    v.exactOptional(inner),
    v.intersect([inner, v.any()]),
    v.looseObject(object),
    v.looseTuple([inner]),
    v.nonNullable(v.nullable(inner)),
    v.nonNullish(v.nullish(inner)),
    v.nonOptional(v.optional(inner)),
    v.nullable(inner),
    v.nullish(inner),
    v.object(object),
    v.objectWithRest(object, inner),
    v.optional(inner),
    v.record(v.string(), inner),
    v.strictObject(object),
    v.strictTuple([inner]),
    v.tuple([inner]),
    v.tupleWithRest([inner], inner),
    v.undefinedable(inner),
    v.union([inner, v.null()]),
    v.variant("kind", [v.object({ kind: v.literal("a"), inner })]),
    v.pipe(v.object(object), v.title("Model"), v.check(() => true), v.readonly()),
    v.fallback(v.object(object), {} as never),
  ];
}

const LEAVES: v.GenericSchema[] = [
  v.any(),
  v.bigint(),
  v.boolean(),
  v.enum(Color),
  v.literal(1n),
  v.null(),
  v.number(),
  v.picklist(["a", 1]),
  v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
  v.pipe(v.string(), v.regex(/(?<![a-z])\p{L}/iu)),
  v.string(),
  v.unknown(),
];

Deno.test("A model without a fault can be described, in both directions", () => {
  const carried = [...LEAVES, ...LEAVES.flatMap(around), ...around(v.object({ deep: v.array(v.string()) }))];
  for (const schema of carried) {
    assertEquals([faultOf("input", schema, "x"), faultOf("output", schema, "x")], [undefined, undefined]);
    const models = new Models("#/$defs/");
    models.jsonInput(schema);
    models.jsonOutput(schema);
    models.definitions();
  }
});

Deno.test("A part that JSON cannot carry is a fault of a model, wherever the part is", () => {
  for (const foreign of [v.map(v.string(), v.any()), v.set(v.any()), v.function(), v.symbol(), v.promise()]) {
    for (const schema of [foreign, ...around(foreign), v.lazy(() => foreign)]) {
      for (const form of ["input", "output"] as const) {
        assertStringIncludes(String(faultOf(form, schema, "x")?.message), `the kind "${foreign.type}" cannot be`);
      }
    }
  }
});

Deno.test("A schema of a kind that nobody knows can be anything", () => {
  for (const schema of [v.custom(() => true), { ...v.string(), type: "of the future" }]) {
    assertEquals(faultOf("output", schema, "x"), undefined);
    assertEquals(new Models("#/$defs/").jsonOutput(schema), {});
  }
});
