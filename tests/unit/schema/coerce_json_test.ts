import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { coerceJson, findOverflows } from "../../../src/schema/coerce_json.ts";
import { type Dataset, runSchema, type Schema } from "../../../src/schema/schema.ts";
import * as v from "valibot";
import { Random } from "../support/random.ts";
import { randomSchema, randomValue } from "../support/schemas.ts";

async function outcome(schema: Schema, value: unknown): Promise<unknown> {
  const dataset = await runSchema(schema, value);
  if (!dataset.issues) return { value: dataset.value };
  return dataset.issues.map(({ message, path, input }) => {
    // The coerced schema uses the message of the key's own schema.
    const isMissing = path?.at(-1)?.origin === "key" && input === undefined;
    return [isMissing ? "missing" : message, path?.map(({ key }) => key)];
  });
}

async function accepts(schema: Schema, value: unknown): Promise<boolean> {
  return !(await runSchema(coerceJson(schema, "it"), value)).issues;
}

Deno.test("A schema that plain JSON can satisfy keeps its meaning, for random schemas and values", async () => {
  const random = new Random(314);
  let valid = 0;
  for (let round = 0; round < 3_000; round++) {
    const schema = randomSchema(random, 3, { isPlain: true });
    const coerced = coerceJson(schema, "it");
    for (let turn = 0; turn < 6; turn++) {
      const value = randomValue(random, 3, { isPlain: true });
      const expected = await outcome(schema, value);
      if (!Array.isArray(expected)) valid++;
      // An array where an object is due is refused in other words.
      if (JSON.stringify(expected).includes("received Array")) continue;
      const got = await outcome(coerced, value);
      if (hasArrayForObject(value, got)) continue;
      assertEquals(got, expected, `round ${round}: ${JSON.stringify(value)}`);
    }
  }
  assert(valid > 3_000, String(valid));
});

/** Whether a fault names an array that was sent instead of an object. */
function hasArrayForObject(value: unknown, got: unknown): boolean {
  return JSON.stringify(value).includes("[") && JSON.stringify(got).includes('received \\"array\\"');
}

Deno.test("A schema without anything to change stays the same object", () => {
  for (
    const schema of [v.string(), v.array(v.pipe(v.number(), v.minValue(0))), v.union([v.string(), v.null()]), v.any()]
  ) {
    assertStrictEquals(coerceJson(schema, "it"), schema);
  }
});

const bigints: Record<string, [schema: Schema, json: unknown, value: unknown]> = {
  bare: [v.bigint(), "5", 5n],
  pipe: [v.pipe(v.bigint(), v.minValue(1n)), "5", 5n],
  object: [v.object({ n: v.bigint() }), { n: "5" }, { n: 5n }],
  loose: [v.looseObject({ n: v.bigint() }), { n: "5", m: "6" }, { n: 5n, m: "6" }],
  strict: [v.strictObject({ n: v.bigint() }), { n: "5" }, { n: 5n }],
  rest: [v.objectWithRest({ a: v.string() }, v.bigint()), { a: "1", n: "5" }, { a: "1", n: 5n }],
  array: [v.array(v.bigint()), ["5"], [5n]],
  tuple: [v.tuple([v.string(), v.bigint()]), ["1", "5"], ["1", 5n]],
  looseTuple: [v.looseTuple([v.bigint()]), ["5", "6"], [5n, "6"]],
  strictTuple: [v.strictTuple([v.bigint()]), ["5"], [5n]],
  tupleWithRest: [v.tupleWithRest([v.string()], v.bigint()), ["1", "5"], ["1", 5n]],
  record: [v.record(v.string(), v.bigint()), { n: "5" }, { n: 5n }],
  union: [v.union([v.number(), v.bigint()]), "5", 5n],
  intersection: [v.intersect([v.object({ a: v.bigint() }), v.object({ b: v.string() })]), { a: "5", b: "6" }, {
    a: 5n,
    b: "6",
  }],
  variant: [v.variant("k", [v.object({ k: v.literal("a"), n: v.bigint() })]), { k: "a", n: "5" }, { k: "a", n: 5n }],
  optional: [v.object({ n: v.optional(v.bigint()) }), { n: "5" }, { n: 5n }],
  "optional with a default": [v.object({ n: v.optional(v.bigint(), 5n) }), {}, { n: 5n }],
  exactOptional: [v.object({ n: v.exactOptional(v.bigint()) }), { n: "5" }, { n: 5n }],
  nullable: [v.array(v.nullable(v.bigint())), ["5", null], [5n, null]],
  nullish: [v.nullish(v.bigint()), "5", 5n],
  undefinedable: [v.undefinedable(v.bigint()), "5", 5n],
  nonOptional: [v.nonOptional(v.optional(v.bigint())), "5", 5n],
  nonNullable: [v.nonNullable(v.nullable(v.bigint())), "5", 5n],
  nonNullish: [v.nonNullish(v.nullish(v.bigint())), "5", 5n],
  lazy: [v.object({ n: v.lazy(() => v.bigint()) }), { n: "5" }, { n: 5n }],
  literal: [v.literal(5n), "5", 5n],
  picklist: [v.picklist([5n, 6n]), "5", 5n],
  fallback: [v.fallback(v.bigint(), 7n), "x", 7n],
  "fallback in a pipe": [v.pipe(v.fallback(v.bigint(), 7n), v.minValue(1n)), "5", 5n],
  "fallback in an object": [v.object({ n: v.fallback(v.bigint(), 7n) }), {}, { n: 7n }],
  "second schema of a pipe": [v.pipe(v.unknown(), v.bigint()), "5", 5n],
  "pipe in a pipe": [v.pipe(v.pipe(v.bigint(), v.minValue(1n)), v.maxValue(9n)), "5", 5n],
  "after a transformation the value is the schema's own": [
    v.pipe(v.string(), v.transform((text) => BigInt(text)), v.bigint()),
    "5",
    5n,
  ],
  objectAsync: [v.objectAsync({ n: v.bigint() }), { n: "5" }, { n: 5n }],
  arrayAsync: [v.arrayAsync(v.nullableAsync(v.bigint())), ["5", null], [5n, null]],
  lazyAsync: [v.lazyAsync(async () => v.bigint()), "5", 5n],
  unionAsync: [v.unionAsync([v.bigint(), v.string()]), "5", 5n],
  pipeAsync: [v.pipeAsync(v.bigint(), v.checkAsync(async (n) => n > 1n)), "5", 5n],
  recordAsync: [v.recordAsync(v.string(), v.bigint()), { n: "5" }, { n: 5n }],
  tupleAsync: [v.tupleAsync([v.bigint()]), ["5"], [5n]],
  variantAsync: [v.variantAsync("k", [v.objectAsync({ k: v.literal("a"), n: v.bigint() })]), { k: "a", n: "5" }, {
    k: "a",
    n: 5n,
  }],
  intersectAsync: [v.intersectAsync([v.objectAsync({ a: v.bigint() })]), { a: "5" }, { a: 5n }],
  fallbackAsync: [v.fallbackAsync(v.objectAsync({ n: v.bigint() }), { n: 7n }), 5, { n: 7n }],
};

for (const [name, [schema, json, value]] of Object.entries(bigints)) {
  Deno.test(`A bigint is read from a string of digits: ${name}`, async () => {
    assertEquals(await outcome(coerceJson(schema, "it"), json), { value });
  });
}

Deno.test("A recursive schema is coerced as deep as the value nests", async () => {
  interface Node {
    n: bigint;
    children: Node[];
  }
  const Tree: v.GenericSchema<unknown, Node> = v.object({ n: v.bigint(), children: v.array(v.lazy(() => Tree)) });
  const json = { n: "1", children: [{ n: "2", children: [{ n: "3", children: [] }] }] };
  assertEquals(await outcome(coerceJson(Tree, "it"), json), {
    value: { n: 1n, children: [{ n: 2n, children: [{ n: 3n, children: [] }] }] },
  });
  assert(!await accepts(Tree, { n: "1", children: [{ n: "2", children: [{ n: 3, children: [] }] }] }));
  assert(!await accepts(Tree, { n: "1", children: [[]] }));
});

Deno.test("A lazy schema may depend on the value", async () => {
  const schema = v.lazy((input) => input === "yes" ? v.literal("yes") : v.bigint());
  assertEquals([await accepts(schema, "yes"), await accepts(schema, "5"), await accepts(schema, "no")], [
    true,
    true,
    false,
  ]);
});

Deno.test("A schema that no JSON can satisfy is a TypeError at any depth", () => {
  const foreign = [v.date(), v.map(v.any(), v.any()), v.set(v.any()), v.instance(Date), v.file(), v.blob(), v.nan()];
  foreign.push(v.function() as never, v.symbol() as never, v.promise() as never);
  for (const schema of foreign as v.GenericSchema[]) {
    const places: Schema[] = [
      schema,
      v.object({ a: schema }),
      v.array(v.optional(schema)),
      v.tuple([v.nullable(schema)]),
      v.record(v.string(), schema),
      v.pipe(schema, v.check(() => true)),
      v.objectWithRest({}, schema),
      v.variant("k", [v.object({ k: v.literal(1), a: schema })]),
      v.intersect([schema]),
      v.fallback(v.object({ a: schema }), {} as never),
    ];
    for (const place of places) {
      assertThrows(() => coerceJson(place, "the body of X"), TypeError, "the body of X", schema.type);
    }
  }
  assertThrows(() => coerceJson(v.date(), "it"), TypeError, "isoTimestamp");
});

Deno.test("Steps after a transformation do not read JSON, so they may be anything", async () => {
  const schema = v.pipe(v.string(), v.toDate(), v.date(), v.minValue(new Date(0)));
  assert(await accepts(schema, "2026-01-01"));
});

Deno.test("Custom messages are kept when a schema is remade", async () => {
  const schema = v.object({ n: v.bigint("n is wrong") }, "not an object");
  assertEquals(await outcome(coerceJson(schema, "it"), { n: 1 }), [["n is wrong", ["n"]]]);
  assertEquals(await outcome(coerceJson(schema, "it"), 5), [["not an object", undefined]]);
  const list = v.tuple([v.bigint("first is wrong")], "not a list");
  assertEquals(await outcome(coerceJson(list, "it"), [1]), [["first is wrong", [0]]]);
  assertEquals(await outcome(coerceJson(list, "it"), 5), [["not a list", undefined]]);
});

Deno.test("The checks of a pipe after a fallback of its first step are kept", () => {
  const schema = v.pipe(v.fallback(v.object({ a: v.bigint() }), { a: 1n }), v.check(({ a }) => a !== 2n));
  const coerced = coerceJson(schema, "x");
  assertEquals((runSchema(coerced, { a: "3" }) as Dataset).value, { a: 3n });
  assertEquals((runSchema(coerced, { a: "x" }) as Dataset).value, { a: 1n });
  assertEquals((runSchema(coerced, { a: "2" }) as Dataset).issues?.length, 1);
});

Deno.test("A wrapper of a lazy schema does not hide its target", async () => {
  const object = () => v.object({ a: v.optional(v.bigint()) });
  const lazy = [
    v.cache(v.lazy(object)),
    v.message(v.lazy(object), "No"),
    v.config(v.lazy(object), { abortEarly: true }),
    v.fallback(v.lazy(object), { a: 7n }),
  ];
  for (const schema of [...lazy, ...lazy.map((schema) => v.pipe(schema, v.check(() => true)))]) {
    assertEquals(await outcome(coerceJson(schema, "it"), { a: "6" }), { value: { a: 6n } });
  }
  for (const schema of lazy.slice(0, 3)) assert(!await accepts(schema, []));
});

function pathsIn(text: string): unknown[] {
  return findOverflows(text, JSON.parse(text)).map(({ path }) => path.join("."));
}

Deno.test("A number that does not fit a double is found in every notation", () => {
  for (const number of ["1e309", "-1E+400", "1e0000000309", `1${"0".repeat(309)}`, `${"9".repeat(250)}.5e99`]) {
    assertEquals(pathsIn(number), [""]);
    assertEquals(pathsIn(`{"a":[0,${number},"b"],"c":${" ".repeat(190)}${number}}`), ["a.1", "c"]);
  }
});

Deno.test("Text that only looks like such a number is not reported", () => {
  const texts = [
    "1e308",
    "1e-999",
    "0e999",
    '"1e999"',
    `{"1e999":"${"9".repeat(400)}"}`,
    `0.${"1".repeat(400)}`,
    "null",
  ];
  for (const text of texts) assertEquals(pathsIn(text), []);
});

Deno.test("A large or deep value lists only its first overflow", () => {
  assertEquals(pathsIn("[1e999,1e999]"), ["0", "1"]);
  assertEquals(pathsIn(`["${"x".repeat(70_000)}",1e999,1e999]`), ["1"]);
  assertEquals(pathsIn(`${"[".repeat(40)}1e999,1e999${"]".repeat(40)}`), [Array(40).fill("0").join(".")]);
});

Deno.test("Deep nesting does not make the search slower", () => {
  const zeros = "0,".repeat(200_000);
  const quickest = (depth: number): number => {
    const text = `${"[".repeat(depth)}${zeros}1e999${"]".repeat(depth)}`;
    const value = JSON.parse(text);
    return Math.min(...Array.from({ length: 5 }, () => {
      const began = performance.now();
      assertEquals(findOverflows(text, value).map(({ path }) => path.length), [depth]);
      return performance.now() - began;
    }));
  };
  const [flat, deep] = [quickest(1), quickest(1_000)];
  assert(deep < 20 * flat + 5, `${flat} ms flat, ${deep} ms deep`);
});
