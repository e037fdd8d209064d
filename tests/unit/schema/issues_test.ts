import { assert, assertEquals, assertFalse } from "@std/assert";
import { toIssue } from "../../../src/schema/issues.ts";
import { runSchema, type Schema } from "../../../src/schema/schema.ts";
import * as v from "valibot";

async function issuesOf(schema: Schema, value: unknown) {
  const { issues = [] } = await runSchema(schema, value);
  return issues.map((issue) => toIssue(issue, "body", ["root"]));
}

Deno.test("An issue tells where, what and what was expected, never what was sent", async () => {
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

Deno.test("A missing value is told as missing", async () => {
  const table: [schema: Schema, value: unknown][] = [
    [v.string(), undefined],
    [v.object({ a: v.string() }), {}],
    [v.object({ a: v.object({}) }), {}],
    [v.object({ a: v.union([v.string(), v.number()]) }), {}],
    [v.object({ a: v.literal(1) }), { a: undefined }],
    [v.array(v.string()), undefined],
  ];
  for (const [schema, value] of table) {
    const [issue] = await issuesOf(schema, value);
    assertEquals(issue?.message, "Missing value", schema.type);
  }
});

Deno.test("An author's message stays as it is, also where it speaks of what was received", async () => {
  assertEquals((await issuesOf(v.string("I received nothing of use"), 5))[0]!.message, "I received nothing of use");
  assertEquals((await issuesOf(v.string("Say something"), undefined))[0]!.message, "Say something");
  const [own] = await issuesOf(v.pipe(v.string(), v.rawCheck(({ addIssue }) => addIssue({ message: "Own: 5" }))), "x");
  assertEquals(own, { in: "body", path: ["root"], message: "Own: 5" });
});

Deno.test("A message says what was expected where valibot's own does", async () => {
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

Deno.test("Keys that are no texts are written as texts", async () => {
  const [issue] = await issuesOf(v.map(v.any(), v.number()), new Map([[{ toString: () => "key" }, "x"]]));
  assertEquals(issue!.path, ["root", "key"]);
});
