import { assert, assertEquals, assertFalse } from "@std/assert";
import { runSchema, type Schema } from "../../../src/schema/schema.ts";
import { boundIssues, summarizeIssues, toIssue } from "../../../src/schema/issues.ts";
import * as v from "valibot";

async function issuesOf(schema: Schema, value: unknown) {
  const { issues = [] } = await runSchema(schema, value);
  return issues.map((issue) => toIssue(issue, "body", ["root"]));
}

Deno.test("An issue has the path, the message and the expectation, never the value", async () => {
  const schema = v.object({ a: v.array(v.pipe(v.string(), v.email())), b: v.number() });
  const issues = await issuesOf(schema, { a: ["ada@example.org", "SECRET"], b: "SECRET" });
  assertEquals(issues.map(({ in: source, path }) => [source, ...path]), [["body", "root", "a", 1], [
    "body",
    "root",
    "b",
  ]]);
  assertEquals(issues[1]!.expected, "number");
  assertFalse(JSON.stringify(issues).includes("SECRET"));
});

Deno.test("A missing value has the code missing", async () => {
  const table: [schema: Schema, value: unknown, expected?: string][] = [
    [v.string(), undefined, "string"],
    [v.object({ a: v.string() }), {}],
    [v.object({ a: v.object({}) }), {}],
    [v.strictObject({ a: v.string() }), {}],
    [v.objectWithRest({ a: v.string() }, v.number()), {}],
    [v.object({ a: v.union([v.string(), v.number()]) }), {}],
    [v.object({ a: v.literal(1) }), { a: undefined }, "1"],
    [v.array(v.string()), undefined, "Array"],
    [v.tuple([v.string()]), [], "string"],
    [v.variant("k", [v.object({ k: v.literal("a") })]), {}, '"a"'],
    [v.nonOptional(v.optional(v.string())), undefined],
    [v.nonNullish(v.nullish(v.string())), undefined],
  ];
  for (const [schema, value, expected] of table) {
    const [issue] = await issuesOf(schema, value);
    assertEquals([issue?.code, issue?.message, issue?.expected], ["missing", "Missing value", expected], schema.type);
  }
});

Deno.test("A custom message is kept, even if it mentions the received value", async () => {
  assertEquals((await issuesOf(v.string("I received nothing of use"), 5))[0]!.message, "I received nothing of use");
  assertEquals((await issuesOf(v.string("Say something"), undefined))[0]!.message, "Say something");
  const [own] = await issuesOf(v.pipe(v.string(), v.rawCheck(({ addIssue }) => addIssue({ message: "Own: 5" }))), "x");
  assertEquals(own, { in: "body", path: ["root"], code: "invalid", message: "Own: 5" });
});

Deno.test("A message contains the expectation if valibot's does", async () => {
  const messages: [schema: Schema, value: unknown][] = [
    [v.number(), "SECRET"],
    [v.pipe(v.string(), v.regex(/^a:b$/)), "SECRET: a"],
    [v.pipe(v.string(), v.startsWith("a: ")), "SECRET"],
    [v.picklist(["a: b", "c"]), "SECRET"],
    [v.strictObject({}), { "SECRET: key": 1 }],
    [v.pipe(v.string(), v.parseJson()), "{SECRET"],
    [v.pipe(v.number(), v.multipleOf(7)), 5],
  ];
  for (const [schema, value] of messages) {
    for (const { message } of await issuesOf(schema, value)) {
      assertFalse(message.includes("SECRET"), message);
      assert(message.length > 3 && message.startsWith("Invalid"), message);
    }
  }
});

Deno.test("A value that does not fit is invalid, and so is an unknown key", async () => {
  const table: [schema: Schema, value: unknown][] = [
    [v.string(), null],
    [v.strictObject({}), { a: 1 }],
    [v.strictTuple([]), [1]],
    [v.never(), undefined],
    [v.pipe(v.string(), v.nonEmpty()), ""],
    [v.nonNullable(v.nullable(v.string())), null],
    [v.pipe(v.optional(v.string()), v.check((text) => text !== undefined)), undefined],
  ];
  for (const [schema, value] of table) {
    const [issue] = await issuesOf(schema, value);
    assertEquals(issue?.code, "invalid", schema.type);
  }
});

Deno.test("An expectation is in words where valibot uses a sign", async () => {
  const table: [schema: Schema, value: unknown, expected: string, message: string, demand: string][] = [
    [v.pipe(v.string(), v.nonEmpty()), "", "not empty", "Invalid length: expected not empty", "should not be empty"],
    [v.pipe(v.number(), v.notValue(5)), 5, "not 5", "Invalid value: expected not 5", "should be not 5"],
    [
      v.pipe(v.string(), v.excludes("!")),
      "!",
      'not "!"',
      'Invalid content: expected not "!"',
      'should be of content not "!"',
    ],
    [v.nonNullable(v.any()), null, "not null", "Invalid type: expected not null", "should be not null"],
    [v.nonNullish(v.any()), null, "not null", "Invalid type: expected not null", "should be not null"],
    [v.literal("!a"), "b", '"!a"', 'Invalid type: expected "!a"', 'should be "!a"'],
    [v.pipe(v.string(), v.minLength(3)), "a", ">=3", "Invalid length: expected >=3", "should be of length >=3"],
  ];
  for (const [schema, value, expected, message, demand] of table) {
    const { issues = [] } = await runSchema(schema, value);
    const issue = toIssue(issues[0]!, "body", []);
    assertEquals([issue.expected, issue.message], [expected, message]);
    assertEquals(summarizeIssues(issues, "it"), `it ${demand}`);
  }
});

Deno.test("A summary for the log is bounded and does not contain the value", async () => {
  const { issues = [] } = await runSchema(
    v.object({ title: v.pipe(v.string(), v.email()), isbn: v.string(), lines: v.array(v.number()) }),
    { title: "SECRET", lines: Array(100).fill("SECRET") },
  );
  const text = summarizeIssues(issues, "the result");
  assert(text.startsWith('"title" should be a valid email, "isbn" is missing, "lines.0" should be number, '), text);
  assert(text.endsWith('"lines.17" should be number, and 82 more'), text);
});

Deno.test("A list of issues is cut to the size of a reply", () => {
  const issue = (key: string) => ({ in: "body" as const, path: [key], code: "invalid" as const, message: "Wrong" });
  assertEquals(boundIssues(Array(999).fill(issue("a"))).length, 999);
  assertEquals(boundIssues(Array(5_000).fill(issue("a"))).length, 1_000);
  assertEquals(boundIssues(Array(100).fill(issue("a".repeat(100_000)))).length, 10);
  assertEquals(boundIssues(Array(100).fill(issue("a".repeat(2_000_000)))).length, 1);
});

Deno.test("Keys of other types are converted to text", async () => {
  const [issue] = await issuesOf(v.map(v.any(), v.number()), new Map([[{ toString: () => "key" }, "x"]]));
  assertEquals(issue!.path, ["root", "key"]);
});
