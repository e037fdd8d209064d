import { assert, assertEquals } from "@std/assert";
import { compileCheck, INVALID, toValidator } from "../../../src/schema/check.ts";
import type { Dataset, Schema } from "../../../src/schema/schema.ts";
import * as v from "valibot";
import { Random } from "../support/random.ts";
import { byValibot, CheckFuzz, outcome } from "./support/check_fuzz.ts";

Deno.test("A compiled check gives the output of valibot, for random schemas and values; a broken check is detected", () => {
  const fuzz = new CheckFuzz(1_121);
  fuzz.run(40_000);
  const { valid, invalid } = fuzz.counts;
  assert(valid > 12_000 && invalid > 12_000, `${valid} valid, ${invalid} invalid`);
  for (const [fault, { noticed }] of fuzz.faults) assert(noticed > 0, `never noticed: ${fault}`);
});

Deno.test("A schema of any depth is checked, and its innermost issue found", () => {
  const wraps: ((part: v.GenericSchema) => v.GenericSchema)[] = [
    (part) => v.object({ a: part, b: v.optional(v.number(), 1) }),
    (part) => v.array(part),
    (part) => v.object({ a: v.optional(part) }),
    (part) => v.union([v.boolean(), part]),
    (part) => v.pipe(v.object({ a: part }), v.check(() => true)),
    (part) => v.nullable(part),
  ];
  const random = new Random(12);
  for (let round = 0; round < 200; round++) {
    let schema: v.GenericSchema = v.pipe(v.string(), v.minLength(1));
    let [valid, invalid]: unknown[] = ["x", ""];
    for (let depth = 0; depth < 14; depth++) {
      const wrap = random.below(wraps.length);
      schema = wraps[wrap]!(schema);
      if ([0, 2, 4].includes(wrap)) [valid, invalid] = [{ a: valid, extra: 1 }, { a: invalid }];
      if (wrap === 1) [valid, invalid] = [[valid, valid].slice(random.below(2)), [valid, invalid]];
    }
    const { validate } = toValidator(schema);
    for (const value of [valid, invalid, null, {}, [], undefined]) {
      assertEquals(outcome(() => validate(value)), outcome(() => byValibot(schema, value)), `round ${round}`);
    }
    assertEquals((validate(valid) as Dataset).issues, undefined);
    assert((validate(invalid) as Dataset).issues);
  }
});

Deno.test("Keys and values of any kind are data, never code", () => {
  const words = [
    '"',
    "'",
    "`",
    "\\",
    "\n",
    "\r",
    "\u2028",
    "\u2029",
    "\ud800",
    "${x}",
    "*/",
    "//",
    "<!--",
    "",
    " ",
    "1",
    "a-b",
  ];
  words.push(
    '"];throw 1//',
    "'];throw 1//",
    "constructor",
    "toString",
    "input",
    "values",
    "INVALID",
    "v0",
    "return",
    "é",
  );
  const entries = Object.fromEntries(words.map((word) => [word, v.optional(v.picklist(words), word)]));
  const schemas: v.GenericSchema[] = [
    v.object(entries),
    v.object(Object.fromEntries(words.map((word) => [word, v.literal(word)]))),
    v.object(Object.fromEntries([["__proto__", v.any()], ["a", v.string()]])),
    v.pipe(v.string(), v.minLength(Infinity)),
    v.pipe(v.number(), v.minValue(-5), v.maxValue(-0)),
    v.pipe(v.number(), v.maxValue(1e21), v.minValue(-1e-7)),
    v.pipe(v.bigint(), v.minValue(-5n)),
    v.pipe(v.string(), v.minValue("b"), v.maxLength("5" as never)),
  ];
  const full = Object.fromEntries(words.map((word) => [word, word]));
  const values = [
    {},
    full,
    { ...full, extra: 1 },
    "a",
    "b",
    "bcdefgh",
    -5,
    -5.1,
    0,
    1e21,
    1e22,
    -4n,
    -6n,
    Object.create(null),
  ];
  for (const schema of schemas) {
    const { validate } = toValidator(schema);
    for (const value of values) {
      assertEquals(outcome(() => validate(value)), outcome(() => byValibot(schema, value)), Deno.inspect(value));
    }
  }
});

Deno.test("A schema of hundreds of entries is checked", () => {
  const names = Array.from({ length: 600 }, (_, index) => `n${index}`);
  const { check } = toValidator(v.object(Object.fromEntries(names.map((name) => [name, v.optional(v.number(), 1)]))));
  assertEquals(Object.keys(check({ n599: 2, other: 1 }) as object).length, 600);
  assertEquals(check({ n599: "x" }), INVALID);
});

Deno.test("A check leaves the value as it was", () => {
  const schema = v.object({ a: v.optional(v.string(), "x"), list: v.array(v.object({ b: v.number() })) });
  const value = Object.freeze({ list: Object.freeze([Object.freeze({ b: 1, c: 2 })]) });
  assertEquals(compileCheck(schema)(value), { a: "x", list: [{ b: 1 }] });
});

Deno.test("Each value gets its own copy of a default", () => {
  const schema = v.object({ list: v.optional(v.array(v.string()), []), made: v.optional(v.any(), () => ({})) });
  const check = compileCheck(schema);
  const [one, two] = [check({}), check({})] as { list: string[]; made: object }[];
  one!.list.push("x");
  assertEquals(two!.list, []);
  assert(one!.made !== two!.made);
});

Deno.test("Wrappers keep their effect: message, config, cache and a custom schema", () => {
  const schemas: Record<string, Schema> = {
    message: v.message(v.number(), "mine"),
    config: v.config(v.object({ a: v.number(), b: v.number() }), { abortEarly: true }),
    cache: v.cache(v.pipe(v.string(), v.minLength(2))),
    own: {
      ...v.string(),
      "~run": (dataset: Dataset) => ({ ...dataset, typed: true, value: `own ${dataset.value}` }),
    } as unknown as Schema,
  };
  for (const [name, schema] of Object.entries(schemas)) {
    for (const value of ["x", "xy", 5, {}, { a: "x", b: "y" }]) {
      const { validate } = toValidator(schema);
      assertEquals(outcome(() => validate(value)), outcome(() => byValibot(schema, value)), `${name} ${value}`);
    }
  }
  assertEquals(compileCheck(schemas.own!)(5), "own 5");
});

Deno.test("A regular expression with a state gives the same result each time", () => {
  const { validate } = toValidator(v.pipe(v.string(), v.regex(/a/g)));
  for (let turn = 0; turn < 4; turn++) assertEquals((validate("a") as Dataset).issues, undefined);
});

Deno.test("An invalid value gives one symbol, which no value can be", () => {
  assertEquals(compileCheck(v.string())(5), INVALID);
  assertEquals(compileCheck(v.any())(undefined), undefined);
});

Deno.test("An error of a union option is thrown, unless an earlier step of the option fails", () => {
  const broken = v.pipe(v.any(), v.transform((value) => value.b.c));
  const options: v.GenericSchema[] = [
    v.object({ a: v.string(), b: broken }),
    v.object({ a: v.string(), b: v.optional(v.number(), () => broken.pipe[1].operation({})) }),
    v.object({ a: v.string(), b: v.pipe(v.any(), v.minValue(5)) }),
    v.object({ a: v.string(), b: v.pipe(v.any(), v.regex(/x/)) }),
    v.object({ a: v.string(), b: v.union([broken, v.number()]) }),
    v.object({ a: v.string(), b: v.object({ c: v.object({ d: v.object({ e: v.object({ f: broken }) }) }) }) }),
  ];
  const unreadable = { valueOf: 1, toString: 1 };
  const parts = [{}, { b: unreadable }, { b: { c: { d: { e: { f: 1 } } } } }];
  for (const option of options) {
    const schema = v.union([option, v.any()]);
    for (const a of ["text", 1]) {
      const values = parts.map((part) => ({ a, ...part }));
      const outcomes = values.map((value) => outcome(() => byValibot(schema, value)));
      assertEquals(outcomes.some((expected) => "thrown" in (expected as object)), a === "text");
      assertEquals(values.map((value) => outcome(() => toValidator(schema).validate(value))), outcomes);
    }
  }
});

Deno.test("valibot runs an async schema, and its result is a promise", async () => {
  const { validate, isAsync } = toValidator(v.pipeAsync(v.string(), v.checkAsync(async (text) => text === "a")));
  assertEquals(isAsync, true);
  const [valid, invalid] = [await validate("a"), await validate("b")];
  assertEquals([valid.issues, invalid.issues?.length], [undefined, 1]);
});
