import { assertEquals, assertThrows } from "@std/assert";
import { type Dataset, runSchema, type Schema } from "../../../src/schema/schema.ts";
import { coerceText, parseBigInt, parseNumber } from "../../../src/schema/coerce_text.ts";
import * as v from "valibot";
import { Random } from "../support/random.ts";

async function read(schema: Schema, text: unknown): Promise<unknown> {
  const { issues, value } = await runSchema(coerceText(schema, "it").schema, text) as Dataset;
  return issues ? "refused" : value;
}

Deno.test("A number has JSON's grammar and fits a double", () => {
  const random = new Random(99);
  const parts = ["0", "1", "7", "9", "00", "-", "+", ".", "e", "E", "x", " ", "999", "_", "n"];
  let numbers = 0;
  for (let round = 0; round < 50_000; round++) {
    const text = random.list(7, () => random.pick(parts)).join("");
    let json: unknown;
    try {
      json = text.trim() === text ? JSON.parse(text) : undefined;
    } catch {
      // No JSON.
    }
    const isNumber = typeof json === "number" && Number.isFinite(json);
    assertEquals(parseNumber(text), isNumber ? json : text, JSON.stringify(text));
    if (isNumber) numbers++;
  }
  assertEquals(numbers > 1_000, true);
});

Deno.test("A whole number of up to 15 digits is exact, and one of more digits the nearest double", () => {
  const random = new Random(97);
  for (let round = 0; round < 20_000; round++) {
    const digits = random.list(18, () => random.pick(["0", "1", "5", "9"])).join("") || "0";
    const value = digits.length > 1 && digits.startsWith("0") ? digits : Number(digits);
    assertEquals(parseNumber(digits), value);
    for (const neighbour of ["/", ":", "\u0660", "\uff11"]) {
      assertEquals(parseNumber(digits + neighbour), digits + neighbour);
    }
  }
  assertEquals([parseNumber("0"), Object.is(parseNumber("-0"), -0), parseNumber("007")], [0, true, "007"]);
});

Deno.test("A bigint is its own decimal text", () => {
  const random = new Random(98);
  for (let round = 0; round < 20_000; round++) {
    const text = random.list(6, () => random.pick(["0", "1", "9", "12345678901234567890", "-", "+", ".", " ", "n"]))
      .join("");
    const value = parseBigInt(text);
    if (typeof value === "bigint") assertEquals(text === "-0" ? "0" : text, String(value));
    else assertEquals(/^-?(0|[1-9]\d*)$/.test(text), false, text);
  }
});

const table: Record<string, [schema: Schema, taken: [text: unknown, value: unknown][], refused: unknown[]]> = {
  string: [v.string(), [["", ""], ["5", "5"]], []],
  any: [v.any(), [["5", "5"]], []],
  unknown: [v.unknown(), [["true", "true"]], []],
  custom: [v.custom((value) => value === "x"), [["x", "x"]], ["y"]],
  never: [v.never(), [], ["", "x"]],
  undefined: [v.undefined(), [[undefined, undefined]], ["", "undefined"]],
  "pipe of a number": [v.pipe(v.number(), v.multipleOf(5)), [["10", 10]], ["11"]],
  "two schemas in a pipe": [v.pipe(v.unknown(), v.number()), [["10", 10]], ["x"]],
  "pipe in a pipe": [v.pipe(v.pipe(v.number(), v.integer()), v.minValue(5)), [["5", 5]], ["4", "5.5"]],
  "a transformation, then a schema": [v.pipe(v.string(), v.transform(Number), v.number()), [["0x10", 16]], ["x"]],
  readonly: [v.pipe(v.number(), v.readonly()), [["5", 5]], ["x"]],
  brand: [v.pipe(v.number(), v.brand("Id")), [["5", 5]], ["x"]],
  "optional nullable number": [v.optional(v.nullable(v.number())), [["null", null], ["5", 5], [undefined, undefined]], [
    "x",
  ]],
  "nullable optional number": [v.nullable(v.optional(v.number()), 7), [["null", 7], ["5", 5]], ["x"]],
  "default of a number": [v.optional(v.number(), 3), [[undefined, 3], ["5", 5]], ["3x", ""]],
  undefinedable: [v.undefinedable(v.number()), [["5", 5], [undefined, undefined]], ["x"]],
  exactOptional: [v.exactOptional(v.number()), [["5", 5]], ["x"]],
  nonOptional: [v.nonOptional(v.optional(v.number())), [["5", 5]], [undefined]],
  nonNullable: [v.nonNullable(v.nullable(v.number())), [["5", 5]], ["null"]],
  "nonNullable with a default within": [v.nonNullable(v.nullable(v.number(), 5)), [["6", 6]], ["null"]],
  "nonNullable within nullable": [v.nullable(v.nonNullable(v.nullable(v.number(), 5))), [["null", null]], ["x"]],
  "nonNullable text": [v.nonNullable(v.nullable(v.string(), "x")), [["null", "null"]], []],
  "nonNullish with defaults within": [v.nonNullish(v.optional(v.nullish(v.number(), 5), 6)), [["7", 7]], ["null"]],
  nonNullish: [v.nonNullish(v.nullish(v.number())), [["5", 5]], ["null", undefined]],
  "union of literals": [v.union([v.literal(1), v.literal("1"), v.literal(true)]), [["1", 1], ["true", true]], ["2"]],
  "union in a union": [v.union([v.union([v.bigint(), v.boolean()]), v.null()]), [["5", 5n], ["null", null]], ["x"]],
  "fallback around a union": [v.fallback(v.union([v.number(), v.boolean()]), 9), [["x", 9], ["true", true]], []],
  "fallback inside": [v.optional(v.fallback(v.number(), 9)), [["x", 9], ["5", 5]], []],
  "lazy in a lazy": [v.lazy(() => v.lazy(() => v.number())), [["5", 5]], ["x"]],
  "enum of TypeScript": [v.enum({ A: 0, B: 1, 0: "A", 1: "B" } as never), [["0", 0], ["1", 1]], ["A", "B", "2"]],
  "picklist of mixed kinds": [v.picklist([1n, 2, "x"]), [["1", 1n], ["2", 2], ["x", "x"]], ["1.0", "y"]],
  array: [v.array(v.number()), [[["1", "2"], [1, 2]], [[], []]], [["x"], undefined]],
  "array of a union": [v.array(v.union([v.number(), v.literal("all")])), [[["1", "all"], [1, "all"]]], [["x"]]],
  "array in a pipe": [v.pipe(v.array(v.number()), v.minLength(1), v.transform((list) => list.length)), [[["1"], 1]], [
    [],
  ]],
  "array with a default": [v.optional(v.array(v.number()), [7]), [[undefined, [7]], [["1"], [1]]], [["x"]]],
  "nullable array": [v.nullable(v.array(v.number())), [[["1"], [1]]], [["x"]]],
  "union of arrays": [v.union([v.array(v.number()), v.array(v.boolean())]), [[["1"], [1]], [["true"], [true]]], [[
    "x",
  ]]],
  tuple: [v.tuple([v.number(), v.boolean()]), [[["1", "0"], [1, false]]], [["1"], ["x", "0"]]],
  strictTuple: [v.strictTuple([v.number()]), [[["1"], [1]]], [["1", "2"]]],
  looseTuple: [v.looseTuple([v.number()]), [[["1", "2"], [1, "2"]]], [["x"]]],
  tupleWithRest: [v.tupleWithRest([v.string()], v.number()), [[["1", "2"], ["1", 2]]], [["1", "x"]]],
  "fallback around an array": [v.fallback(v.array(v.number()), [0]), [[["x"], [0]], [["1"], [1]]], []],
  "lazy array": [v.lazy(() => v.array(v.number())), [[["1"], [1]]], [["x"]]],
  "async array": [v.arrayAsync(v.pipeAsync(v.number(), v.checkAsync(async (n) => n > 0))), [[["1"], [1]]], [["0"], [
    "x",
  ]]],
  "async optional": [v.optionalAsync(v.number(), 5), [[undefined, 5], ["1", 1]], ["x"]],
  "async nullish": [v.nullishAsync(v.number()), [["null", null], ["1", 1]], ["x"]],
  "async intersection": [v.intersectAsync([v.number(), v.pipe(v.number(), v.minValue(1))]), [["1", 1]], ["0"]],
};

for (const [name, [schema, taken, refused]] of Object.entries(table)) {
  Deno.test(`Text is converted by the kind of the schema: ${name}`, async () => {
    for (const [text, value] of taken) assertEquals(await read(schema, text), value, JSON.stringify(text));
    for (const text of refused) assertEquals(await read(schema, text), "refused", JSON.stringify(text));
  });
}

Deno.test("A coerced schema says whether it takes a list", () => {
  const lists = [v.array(v.any()), v.tuple([]), v.optional(v.array(v.any())), v.lazy(() => v.array(v.any()))];
  const scalars = [v.string(), v.any(), v.pipe(v.string(), v.transform((text) => [text]), v.array(v.any()))];
  for (const schema of lists) assertEquals(coerceText(schema, "it").isList, true, schema.type);
  for (const schema of scalars) assertEquals(coerceText(schema, "it").isList, false, schema.type);
});

Deno.test("A schema that no text can satisfy is a TypeError that names the input", () => {
  const foreign: Schema[] = [
    v.date(),
    v.object({}),
    v.record(v.string(), v.any()),
    v.map(v.any(), v.any()),
    v.set(v.any()),
    v.instance(URL),
    v.nan(),
    v.symbol(),
    v.variant("k", [v.object({ k: v.literal(1) })]),
    v.array(v.array(v.string())),
    v.array(v.object({})),
    v.tuple([v.array(v.string())]),
    v.optional(v.date()),
    v.union([v.string(), v.date()]),
    v.union([v.string(), v.array(v.string())]),
    v.optional(v.union([v.array(v.string()), v.number()])),
    v.pipe(v.date(), v.minValue(new Date())),
    v.lazyAsync(async () => v.string()),
  ];
  for (const schema of foreign) {
    assertThrows(() => coerceText(schema, 'the query "x"'), TypeError, undefined, schema.type);
  }
  assertThrows(() => coerceText(v.date(), 'the query "x"'), TypeError, 'the query "x"');
});

Deno.test("The declared schema is not changed", async () => {
  const schema = v.object({}).type === "object" ? v.nullable(v.number()) : v.any();
  coerceText(schema, "it");
  assertEquals((await runSchema(schema, "5")).issues?.length, 1);
});
