// What is taken for describable without a try can be described.

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as v from "valibot";
import { Models } from "../../../../src/describe/json_schema/models.ts";
import { isPlain } from "../../../../src/describe/mcp/plain_schema.ts";
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

Deno.test("Every schema that is plain can be described, in both directions", () => {
  const plain = [...LEAVES, ...LEAVES.flatMap(around)];
  for (const schema of [...plain, ...around(v.object({ deep: v.array(v.string()) }))]) {
    assert(isPlain(schema), schema.type);
    const models = new Models("#/$defs/");
    models.jsonInput(schema);
    models.jsonOutput(schema);
    models.definitions();
  }
});

Deno.test("A schema with a part that cannot be described is not plain, wherever the part is", () => {
  for (const foreign of [v.map(v.string(), v.any()), v.set(v.any()), v.function(), v.symbol(), v.promise()]) {
    for (const schema of [foreign, ...around(foreign)]) {
      assertEquals([schema.type, isPlain(schema)], [schema.type, false]);
    }
    assertThrows(() => new Models("#/$defs/").jsonOutput(v.object({ foreign })), TypeError);
  }
});

Deno.test("A schema of a kind that nobody knows has to be tried", () => {
  assertEquals(isPlain(v.lazy(() => v.string())), false);
  assertEquals(isPlain(v.custom(() => true)), false);
  assertEquals(isPlain({ ...v.string(), type: "of the future" }), false);
});
