import { assertEquals, assertStrictEquals } from "@std/assert";
import * as v from "valibot";
import { outputSchema } from "../../../src/schema/output_schema.ts";
import { nodeOf, runSchema, type Schema } from "../../../src/schema/schema.ts";

type Result = { readonly value: unknown } | "misfit";

async function run(schema: Schema, value: unknown): Promise<Result> {
  const dataset = await runSchema(outputSchema(nodeOf(schema)), value);
  return dataset.issues ? "misfit" : { value: dataset.value };
}

/** What becomes of values, as JSON keeps them. */
async function check(schema: Schema, table: readonly (readonly [value: unknown, result: Result])[]): Promise<void> {
  for (const [value, result] of table) assertEquals(await run(schema, value), result, JSON.stringify(value));
}

const toNumber = v.pipe(v.string(), v.transform(Number));

Deno.test("A schema that takes what it gave is its own output schema", () => {
  const schemas: Schema[] = [
    v.object({ id: v.number(), name: v.pipe(v.string(), v.trim(), v.minLength(1)), tags: v.array(v.string()) }),
    v.variant("type", [v.object({ type: v.literal("a"), n: v.number() }), v.object({ type: v.literal("b") })]),
    v.union([v.string(), v.nullable(v.number(), 1)]),
    v.record(v.string(), v.optional(v.string(), "x")),
  ];
  for (const schema of schemas) assertStrictEquals<Schema>(outputSchema(nodeOf(schema)), schema);
});

Deno.test("What a transformation makes must be there, and a schema behind it checks it", async () => {
  await check(v.object({ n: toNumber }), [[{ n: 1 }, { value: { n: 1 } }], [{ n: null }, { value: { n: null } }], [
    {},
    "misfit",
  ]]);
  const checked = v.pipe(v.string(), v.transform(JSON.parse), v.object({ n: toNumber }), v.check(({ n }) => n > 1));
  await check(checked, [[{ n: 2 }, { value: { n: 2 } }], [{ n: 1 }, "misfit"], ["{}", "misfit"], [{}, "misfit"]]);
  const twice = v.pipe(v.pipe(v.string(), v.transform(Number), v.number()), v.minValue(3));
  await check(twice, [[3, { value: 3 }], [2, "misfit"], ["3", "misfit"]]);
});

Deno.test("It is found in all kinds of schemas", async () => {
  await check(v.array(toNumber), [[[1, 2], { value: [1, 2] }], ["12", "misfit"]]);
  await check(v.tuple([toNumber, v.string()]), [[[1, "a"], { value: [1, "a"] }], [[1, 2], "misfit"]]);
  await check(v.record(v.string(), v.pipe(v.string(), v.transform(Number), v.number())), [
    [{ a: 1 }, { value: { a: 1 } }],
    [{ a: "1" }, "misfit"],
  ]);
  await check(v.looseObject({ n: toNumber }), [[{ n: 1, more: 2 }, { value: { n: 1, more: 2 } }]]);
  await check(v.objectWithRest({ n: toNumber }, v.string()), [
    [{ n: 1, more: "x" }, { value: { n: 1, more: "x" } }],
    [{ n: 1, more: 2 }, "misfit"],
  ]);
  await check(v.nullable(v.object({ n: toNumber })), [[null, { value: null }], [{ n: 1 }, { value: { n: 1 } }]]);
  const variant = v.variant("type", [
    v.pipe(v.object({ type: v.literal("a"), n: v.string() }), v.transform(({ n }) => ({ list: [n] }))),
    v.object({ type: v.literal("b"), n: toNumber }),
  ]);
  await check(variant, [[{ list: ["x"] }, { value: { list: ["x"] } }], [{ type: "b", n: 1 }, {
    value: { type: "b", n: 1 },
  }]]);
});

Deno.test("A recursive schema is", async () => {
  interface Tree {
    readonly size: string;
    readonly parts: readonly Tree[];
  }
  const tree: v.GenericSchema<Tree, unknown> = v.object({
    size: v.pipe(v.string(), v.transform(Number), v.number()),
    parts: v.array(v.lazy(() => tree)),
  });
  await check(tree, [
    [{ size: 1, parts: [{ size: 2, parts: [] }] }, { value: { size: 1, parts: [{ size: 2, parts: [] }] } }],
    [{ size: 1, parts: [{ size: "2", parts: [] }] }, "misfit"],
  ]);
});

Deno.test("Entries whose value may be undefined may be absent: JSON has dropped them", async () => {
  const schema = v.object({
    ...{ a: v.undefinedable(v.string()), b: v.unknown(), c: v.union([v.string(), v.undefined()]) },
    d: v.pipe(v.any(), v.check((value) => value !== 7)),
  });
  await check(schema, [
    [{}, { value: {} }],
    [{ a: "x", b: 1, c: "y", d: 2 }, { value: { a: "x", b: 1, c: "y", d: 2 } }],
    [{ d: 7 }, "misfit"],
    [{ a: 1 }, "misfit"],
  ]);
});

Deno.test("A default is what the schema makes of it", async () => {
  await check(v.object({ n: v.optional(toNumber, "5") }), [[{}, { value: { n: 5 } }], [{ n: 1 }, { value: { n: 1 } }]]);
  await check(v.nullable(toNumber, "5"), [[null, { value: 5 }], [1, { value: 1 }]]);
  await check(v.object({ n: v.optional(v.number(), 5) }), [[{}, { value: { n: 5 } }]]);
});

Deno.test("A fallback stays", async () => {
  const checked = v.fallback(v.pipe(v.string(), v.transform(Number), v.number()), 0);
  await check(checked, [[3, { value: 3 }], ["x", { value: 0 }]]);
});

Deno.test("Async checks are left out, and others stay", async () => {
  const never = (): Promise<boolean> => Promise.reject(new Error("asked again"));
  const schema = v.pipeAsync(v.number(), v.checkAsync(never), v.minValue(1));
  await check(schema, [[1, { value: 1 }], [0, "misfit"]]);
  await check(v.objectAsync({ n: schema }), [[{ n: 1 }, { value: { n: 1 } }], [{ n: 0 }, "misfit"], [{}, "misfit"]]);
  const transformed = v.pipeAsync(v.string(), v.transformAsync(never), v.boolean());
  await check(v.objectAsync({ n: transformed }), [[{ n: true }, { value: { n: true } }], [{ n: "x" }, "misfit"]]);
});
