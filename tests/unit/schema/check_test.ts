import { assert, assertEquals } from "@std/assert";
import { compileCheck, INVALID } from "../../../src/schema/check.ts";
import { type Dataset, runSchema, type Schema } from "../../../src/schema/schema.ts";
import { toValidator } from "../../../src/schema/validator.ts";
import * as v from "valibot";
import { Random } from "../support/random.ts";
import { randomSchema, randomValue } from "../support/schemas.ts";

/** What becomes of a value, in a form that can be compared. */
function outcome(run: () => Dataset | Promise<Dataset>): unknown {
  try {
    const { value, issues } = run() as Dataset;
    if (!issues) return { value };
    return issues.map(({ message, path }) => [message, path?.map(({ key }) => key)]);
  } catch (error) {
    return { thrown: String(error) };
  }
}

Deno.test("A compiled check gives what valibot gives, for random schemas and values", () => {
  const random = new Random(1_121);
  let [valid, invalid] = [0, 0];
  for (let round = 0; round < 6_000; round++) {
    const schema = randomSchema(random, 3, { isPlain: false });
    const { validate } = toValidator(schema);
    for (let turn = 0; turn < 12; turn++) {
      const value = randomValue(random, 3, { isPlain: false });
      const expected = outcome(() => runSchema(schema, value));
      assertEquals(outcome(() => validate(value)), expected, `round ${round}: ${Deno.inspect(value, { depth: 9 })}`);
      if (Array.isArray(expected)) invalid++;
      else valid++;
    }
  }
  assert(valid > 10_000 && invalid > 10_000, `${valid} valid, ${invalid} invalid`);
});

Deno.test("A check leaves the value as it was", () => {
  const schema = v.object({ a: v.optional(v.string(), "x"), list: v.array(v.object({ b: v.number() })) });
  const value = Object.freeze({ list: Object.freeze([Object.freeze({ b: 1, c: 2 })]) });
  assertEquals(compileCheck(schema)(value), { a: "x", list: [{ b: 1 }] });
});

Deno.test("Each value gets a default of its own", () => {
  const schema = v.object({ list: v.optional(v.array(v.string()), []), made: v.optional(v.any(), () => ({})) });
  const check = compileCheck(schema);
  const [one, two] = [check({}), check({})] as { list: string[]; made: object }[];
  one!.list.push("x");
  assertEquals(two!.list, []);
  assert(one!.made !== two!.made);
});

Deno.test("A wrapper around a schema keeps its say: message, config, cache and a schema of one's own", () => {
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
      assertEquals(outcome(() => validate(value)), outcome(() => runSchema(schema, value)), `${name} ${value}`);
    }
  }
  assertEquals(compileCheck(schemas.own!)(5), "own 5");
});

Deno.test("A regular expression that keeps its place, and one that depends on it, change nothing", () => {
  const { validate } = toValidator(v.pipe(v.string(), v.regex(/a/g)));
  for (let turn = 0; turn < 4; turn++) assertEquals((validate("a") as Dataset).issues, undefined);
});

Deno.test("What is not valid is told by one symbol that no value can be", () => {
  assertEquals(compileCheck(v.string())(5), INVALID);
  assertEquals(compileCheck(v.any())(undefined), undefined);
});

Deno.test("An async schema is run by valibot, and its result waited for", async () => {
  const { validate, isAsync } = toValidator(v.pipeAsync(v.string(), v.checkAsync(async (text) => text === "a")));
  assertEquals(isAsync, true);
  const [valid, invalid] = [await validate("a"), await validate("b")];
  assertEquals([valid.issues, invalid.issues?.length], [undefined, 1]);
});
