import { assert, assertEquals, assertThrows } from "@std/assert";
import type { JsonSchema } from "../../../../src/schema/json_schema.ts";
import { Models } from "../../../../src/describe/json_schema/models.ts";
import type { Schema } from "../../../../src/schema/schema.ts";
import { ACTIONS } from "./support/action_table.ts";
import { type Described, number, object, text } from "./support/described.ts";
import { KINDS } from "./support/kind_table.ts";
import * as v from "valibot";

/** The exports of valibot that are not schemas: functions that run, inspect or word schemas. */
const OTHERS = new Set([
  "assert",
  "deleteGlobalConfig",
  "deleteGlobalMessage",
  "deleteSchemaMessage",
  "deleteSpecificMessage",
  "flatten",
  "getDefault",
  "getDefaults",
  "getDefaultsAsync",
  "getDescription",
  "getDotPath",
  "getExamples",
  "getFallback",
  "getFallbacks",
  "getFallbacksAsync",
  "getGlobalConfig",
  "getGlobalMessage",
  "getMetadata",
  "getSchemaMessage",
  "getSpecificMessage",
  "getTitle",
  "is",
  "isOfKind",
  "isOfType",
  "isValiError",
  "parse",
  "parseAsync",
  "parser",
  "parserAsync",
  "safeParse",
  "safeParseAsync",
  "safeParser",
  "safeParserAsync",
  "setGlobalConfig",
  "setGlobalMessage",
  "setSchemaMessage",
  "setSpecificMessage",
  "summarize",
  "ValiError",
]);

function accepted(schema: Schema): JsonSchema {
  return new Models("#/$defs/").jsonInput(schema);
}

function sent(schema: Schema): JsonSchema {
  return new Models("#/$defs/").jsonOutput(schema);
}

function assertDescribed(describe: () => JsonSchema, expected: JsonSchema | string, name: string): void {
  if (typeof expected === "string") assertThrows(describe, TypeError, expected, name);
  else assertEquals(describe(), expected, name);
}

function assertRow(name: string, [schema, input, output = input]: Described): void {
  assertDescribed(() => accepted(schema), input, `${name} as accepted`);
  assertDescribed(() => sent(schema), output, `${name} as sent`);
}

Deno.test("Every kind of schema is described, or refused with an alternative", () => {
  for (const [name, row] of Object.entries(KINDS)) assertRow(name, row);
});

Deno.test("Every action is described, and none breaks a description", () => {
  for (const [name, row] of Object.entries(ACTIONS)) assertRow(name, row);
});

Deno.test("These tables contain all exports of valibot that make schemas", () => {
  const made = Object.entries(v).filter(([name, value]) => typeof value === "function" && !/^_|_$/.test(name));
  const missing = made.map(([name]) => name).filter((name) =>
    !OTHERS.has(name) && !(name in KINDS) && !(name in ACTIONS)
  );
  assertEquals(missing, []);
});

Deno.test("A default that is computed is not called, and a key that has one is always sent", () => {
  let calls = 0;
  const schema = v.object({ at: v.optional(v.date(), () => new Date(calls++)) });
  assertEquals(sent(schema), object({ at: { type: "string", format: "date-time" } }));
  const counted = v.object({ n: v.optional(v.number(), () => calls++) });
  assertEquals(accepted(counted), object({ "n?": number }));
  assertEquals(calls, 0);
});

Deno.test("A default within a schema that may be left out itself is not described", () => {
  const models = new Models("#/");
  const nested = v.optional(v.number(), 18);
  for (const schema of [v.optional(nested), v.exactOptional(nested), v.undefinedable(nested)]) {
    assertEquals(models.jsonInput(schema), number);
  }
  assertEquals(models.jsonInput(v.optional(nested, 5)), { type: "number", default: 5 });
  assertEquals(models.jsonInput(v.partial(v.object({ age: nested }))), object({ "age?": number }));
  assertEquals(v.parse(v.partial(v.object({ age: nested })), {}), {});
});

Deno.test("Defaults and examples are described where JSON can carry them", () => {
  const given = v.custom<unknown>(() => true);
  const described = (value: unknown) => accepted(v.object({ a: v.optional(given, value) })).properties?.a;
  assertEquals(described({ at: new Date(0), big: 5n, none: undefined }), {
    default: { at: "1970-01-01T00:00:00.000Z", big: "5" },
  });
  for (const value of [NaN, new Map(), [undefined], new Date(NaN), Symbol("a")]) assertEquals(described(value), {});
  assertEquals(accepted(v.pipe(v.any(), v.examples([1, NaN, "a"]))), { examples: [1, "a"] });
});

Deno.test("Metadata that is no keyword, or has a wrong value, stays out of the description", () => {
  const schema = v.pipe(
    v.string(),
    v.metadata({
      title: 5,
      description: "Said",
      examples: "none",
      deprecated: "yes",
      $ref: "#/x",
      $id: "x",
      type: "number",
      uniqueItems: 1,
      pattern: "(",
      multipleOf: 0,
      column: "name",
      "x-": 1,
      "x-parse": () => 1,
      readOnly: true,
    }),
  );
  assertEquals(accepted(schema), { ...text, description: "Said", readOnly: true });
});

Deno.test("Every keyword and extension of metadata stands in the description", () => {
  const keywords = { uniqueItems: true, maxContains: 2, $comment: "Chips", "x-widget": { type: ["chips"] } };
  const list = v.pipe(v.array(v.string()), v.metadata({ ...keywords, title: "Tags", examples: [["a"]] }));
  const found: JsonSchema = { type: "array", items: text, ...keywords, title: "Tags", examples: [["a"]] };
  const models = new Models("#/");
  models.jsonInput(v.object({ list }));
  assertEquals(models.definitions().Tags, found);
  const custom = v.pipe(v.custom<string>(() => true), v.metadata({ type: "string", format: "uuid", enum: ["a"] }));
  assertEquals(accepted(custom), { type: "string", format: "uuid", enum: ["a"] });
  const converted = v.pipe(v.string(), v.toNumber(), v.metadata({ multipleOf: 2, "x-unit": "cm" }));
  assertEquals([accepted(converted), sent(converted)], [
    { ...text, "x-unit": "cm" },
    { ...number, multipleOf: 2, "x-unit": "cm" },
  ]);
});

Deno.test("A default for null keeps the examples that follow it", () => {
  const note = v.pipe(v.nullish(v.string(), null), v.examples(["a note"]), v.description("kept"));
  const described: JsonSchema = {
    description: "kept",
    examples: ["a note"],
    default: null,
    type: ["string", "null"],
  };
  assertEquals(accepted(v.object({ note })).properties?.note, described);
  const nested = v.pipe(v.pipe(v.nullable(v.number(), 1), v.examples([2])), v.examples([3]));
  assertEquals(accepted(nested).examples, [3]);
  const converted = v.pipe(v.nullable(v.pipe(v.string(), v.toNumber()), "1"), v.examples([2]));
  assertEquals([accepted(converted).examples, sent(converted).examples], [undefined, [2]]);
});

Deno.test("A check before a conversion describes the input, and a check after it the output", () => {
  const schema = v.pipe(
    v.string(),
    v.minLength(2),
    v.examples(["12"]),
    v.description("A count"),
    v.toNumber(),
    v.maxValue(9),
    v.examples([12]),
  );
  assertEquals(accepted(schema), { ...text, minLength: 2, description: "A count", examples: ["12"] });
  assertEquals(sent(schema), { ...number, maximum: 9, description: "A count", examples: [12] });
});

Deno.test("Only the result of a conversion is described as output, so that JSON need not carry the input", () => {
  const Hidden = v.pipe(v.object({ secret: v.string() }), v.title("Hidden"));
  const models = new Models("#/$defs/");
  const described = models.jsonOutput(
    v.pipe(
      v.map(v.string(), Hidden),
      v.transform((map): Record<string, number> => ({ count: map.size })),
      v.record(v.string(), v.number()),
    ),
  );
  assertEquals(described, { type: "object", additionalProperties: number });
  assertEquals(models.jsonOutput(v.pipe(v.set(v.string()), v.transform((set) => [...set]))), {});
  assertEquals(models.jsonOutput(v.pipe(v.set(Hidden), v.transform(() => 1), v.toString())), text);
  assertEquals(models.definitions(), {});
});

Deno.test("A regular expression is a pattern where it means the same without flags, in Unicode mode", () => {
  const patterns: readonly (readonly [RegExp, string | undefined])[] = [
    [/^[a-z]+$/, "^[a-z]+$"],
    [/^\p{L}+$/u, "^\\p{L}+$"],
    [/^x$/g, "^x$"],
    [/^(?<year>\d{4})-\k<year>$/, "^(?<year>\\d{4})-\\k<year>$"],
    [/^[\w\-.]+$/, "^[\\w\\-.]+$"],
    // Flags that change the matches.
    [/^mask$/i, undefined],
    [/^mask$/iu, undefined],
    [/^x$/m, undefined],
    [/^.$/s, undefined],
    [/x/y, undefined],
    [/[\p{L}--[a-z]]/v, undefined],
    // No expressions of Unicode mode.
    [/^a\-z$/, undefined],
    [/^a{|}$/, undefined],
    // Others in Unicode mode.
    [new RegExp("\\u{45}"), undefined],
    [new RegExp("\\p{L}"), undefined],
    [/[😀]/, undefined],
  ];
  for (const [expression, pattern] of patterns) {
    const described = pattern === undefined ? text : { ...text, pattern };
    assertEquals(accepted(v.pipe(v.string(), v.regex(expression))), described, String(expression));
  }
  for (const [name, expression] of Object.entries(v).filter(([name]) => name.endsWith("_REGEX"))) {
    const { pattern = "" } = accepted(v.pipe(v.string(), v.regex(expression as unknown as RegExp)));
    assert(new RegExp(pattern as string, "u") && /^[\x20-\x7e]*$/.test(pattern as string), name);
  }
});

Deno.test("A trimmed text is described without white space around it, in both forms", () => {
  const Name = v.pipe(v.string(), v.trim(), v.minLength(6));
  const described = { ...text, minLength: 6, maxLength: 20, pattern: "^a" };
  const checks = [v.maxLength<string, 20>(20), v.startsWith<string, "a">("a")] as const;
  for (const schema of [v.pipe(v.string(), v.trim(), v.minLength(6), ...checks), v.pipe(Name, ...checks)]) {
    assertEquals([accepted(schema), sent(schema)], [described, described]);
  }
  const Choice = v.pipe(v.string(), v.trim(), v.picklist(["a", "b"]));
  assertEquals(accepted(Choice), sent(Choice));
});

Deno.test("The pattern of a rewritten text is described in neither form, since the input need not match it", () => {
  const Code = v.pipe(v.string(), v.toUpperCase());
  const described = { ...text, maxLength: 3 };
  for (const pipe of [v.pipe(Code, v.regex(/^[A-Z]+$/), v.maxLength(3)), v.pipe(Code, v.trim(), v.maxLength(3))]) {
    assertEquals([accepted(pipe), sent(pipe)], [described, described]);
  }
});

Deno.test("Keys are counted after the object has dropped unknown ones", () => {
  const entries = { a: v.optional(v.number()), b: v.optional(v.number()) };
  const bounded = [v.minEntries(1), v.maxEntries(2)] as const;
  assertEquals(
    accepted(v.pipe(v.object(entries), ...bounded)),
    object({ "a?": number, "b?": number }, { minProperties: 1 }),
  );
  assertEquals(
    accepted(v.pipe(v.strictObject(entries), ...bounded)),
    object({ "a?": number, "b?": number }, { additionalProperties: false, minProperties: 1, maxProperties: 2 }),
  );
  const filled = v.object({ a: v.optional(v.number(), 1) });
  assertEquals(accepted(v.pipe(filled, v.minEntries<{ a: number }, 1>(1))).minProperties, undefined);
});

Deno.test("An undefined item is sent as null, and an undefined key is left out", () => {
  const schema = v.object({
    list: v.array(v.undefinedable(v.bigint())),
    some: v.undefinedable(v.string()),
    any: v.any(),
  });
  assertEquals(
    sent(schema),
    object({
      list: { type: "array", items: { type: ["string", "null"], pattern: "^-?(?:0|[1-9]\\d*)$" } },
      "some?": text,
      "any?": {},
    }),
  );
});

Deno.test("A file or a blob is bytes as a whole reply, and is refused within JSON", () => {
  assertEquals(sent(v.pipe(v.blob(), v.mimeType(["image/png"]))).type, "string");
  assertThrows(
    () => new Models("#/$defs/").jsonOutput(v.object({ cover: v.array(v.object({ image: v.blob() })) }), "getCover"),
    TypeError,
    'Cannot describe "getCover.cover.image": the kind "blob" cannot be written to JSON, reply with the blob alone',
  );
});

Deno.test("A key of any name is described", () => {
  const entries = Object.fromEntries(["__proto__", "constructor", "a b"].map((key) => [key, v.string()]));
  const { properties = {}, required } = accepted(v.object(entries));
  assertEquals(Object.keys(properties), ["__proto__", "constructor", "a b"]);
  assertEquals(required, ["__proto__", "constructor", "a b"]);
});

Deno.test("The description of a schema can be written as JSON, whatever constants it contains", () => {
  const constants = v.union([
    v.literal(NaN),
    v.literal(Infinity),
    v.literal(Symbol("a")),
    v.picklist([5n, NaN]),
    v.pipe(v.bigint(), v.multipleOf(5n), v.minValue(5n), v.notValue(7n)),
    v.pipe(v.number(), v.minValue(-Infinity), v.values([NaN])),
  ]);
  for (const described of [accepted(constants), sent(constants)]) {
    assertEquals(JSON.parse(JSON.stringify(described)), described);
  }
  assert(!JSON.stringify(accepted(constants)).includes("null"));
});

Deno.test("A lazy schema that depends on the value, or is async, is described as anything", async () => {
  const dynamic = v.lazy((input) => typeof input === "string" ? v.string() : v.number());
  assertEquals(accepted(dynamic), {});
  assertEquals(accepted(v.lazyAsync(() => Promise.reject(new Error("Not yet")))), {});
  await Promise.resolve();
});

Deno.test("A lazy schema that makes schemas without end is refused", () => {
  const endless = (): v.GenericSchema => v.object({ next: v.nullable(v.lazy(() => endless())) });
  assertThrows(() => accepted(endless()), TypeError, "return one made before");
});
