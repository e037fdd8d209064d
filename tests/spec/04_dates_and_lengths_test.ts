// Section 4 of the contract: "what the document says and what is accepted are the same", for
// `format` and the lengths of texts.

import { assertEquals } from "@std/assert";
import { App, dependency, Form } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

/** Whether each way into an application accepts a text. */
async function accepts(schema: v.GenericSchema, text: string): Promise<boolean> {
  const app = new App();
  const given = dependency(
    { headers: { "x-text": v.optional(schema as v.GenericSchema<string>) } },
    async (_request, { headers }) => headers,
  );
  app.get("/query", { query: { text: schema }, deps: { given } }, async () => 1);
  app.get("/path/{text}", { params: { text: schema } }, async () => 1);
  app.post("/body", { body: v.object({ text: v.array(schema) }) }, async () => 1);
  app.post(
    "/form",
    { form: Form(v.object({ text: schema, all: v.optional(v.object({ text: schema })) })) },
    async () => 1,
  );
  app.post("/key", { body: v.record(schema as v.GenericSchema<string, string>, v.number()) }, async () => 1);
  app.post("/reply", { body: v.string(), response: v.nullable(schema) }, async (_request, { body }) => body as never);
  await using client = new TestClient(app);
  using _log = new CapturedLog();
  const query = { text };
  const replies = [
    await client.get("/query", { query }),
    await client.get(`/path/${encodeURIComponent(text)}`),
    await client.post("/body", { json: { text: [text] } }),
    await client.post("/form", { body: new URLSearchParams({ text, all: JSON.stringify({ text }) }) }),
    await client.post("/reply", { json: text }),
    ...(schema.type === "string" ? [await client.post("/key", { json: { [text]: 1 } })] : []),
  ];
  const statuses = replies.map(({ status }) => status);
  const accepted = new Set(statuses.map((status) => status === 200));
  assertEquals(accepted.size, 1, `${text}: ${statuses.join()}`);
  return accepted.has(true);
}

const DATES: readonly [text: string, isDate: boolean][] = [
  ["2026-11-22", true],
  ["0000-01-01", true],
  ["9999-12-31", true],
  ["2024-02-29", true],
  ["2000-02-29", true],
  ["2026-02-29", false],
  ["1900-02-29", false],
  ["6055-04-31", false],
  ["2026-06-31", false],
  ["2026-13-01", false],
  ["2026-00-10", false],
  ["2026-01-00", false],
  ["26-01-01", false],
  ["2026-1-1", false],
  ["+12026-01-01", false],
  ["2026-01-01\n", false],
];

const TIMES: readonly [text: string, isTime: boolean][] = [
  ["2026-11-22T09:17:48Z", true],
  ["2026-11-22t09:17:48z", true],
  ["2026-11-22T09:17:48.123456789012Z", true],
  ["2026-11-22T23:59:59+23:59", true],
  ["2024-02-29T00:00:00-00:00", true],
  ["2026-11-22 09:17:48Z", false],
  ["2026-11-22T09:17:48 +03:00", false],
  ["2026-11-22 09:17:48 +03", false],
  ["2026-11-22T09:17:48+03", false],
  ["2026-11-22T09:17:48+0300", false],
  ["2026-11-22T09:17:48+24:00", false],
  ["2026-11-22T24:00:00Z", false],
  ["2016-12-31T23:59:60Z", false],
  ["2026-11-22T09:17Z", false],
  ["2026-11-22T09:17:48", false],
  ["2026-11-22T09:17:48.Z", false],
  ["6055-04-31T09:17:48Z", false],
];

Deno.test("A date is an existing day, as the format date says", async () => {
  const date = v.pipe(v.string(), v.isoDate());
  for (const [text, isDate] of DATES) assertEquals(await accepts(date, text), isDate, text);
});

Deno.test("A timestamp is that of RFC 3339, as the format date-time says, and can be converted to a Date", async () => {
  const time = v.pipe(v.string(), v.isoTimestamp());
  for (const [text, isTime] of TIMES) assertEquals(await accepts(time, text), isTime, text);
  const app = new App();
  const Instant = v.pipe(v.string(), v.isoTimestamp(), v.toDate());
  app.get("/", { query: { at: Instant } }, async (_request, { at }) => at);
  await using client = new TestClient(app);
  for (const [at] of TIMES.filter(([, isTime]) => isTime)) {
    assertEquals(await client.get("/", { query: { at } }).json(), new Date(at).toISOString());
  }
});

Deno.test("Lengths of texts are counted in characters, as minLength and maxLength say", async () => {
  const table: [schema: v.GenericSchema, fits: string[], others: string[]][] = [
    [v.pipe(v.string(), v.minLength(2)), ["ab", "😀😀", "a😀"], ["a", "😀"]],
    [v.pipe(v.string(), v.maxLength(2)), ["ab", "😀😀", "a"], ["abc", "😀😀😀", "a😀b"]],
    [v.pipe(v.string(), v.length(2)), ["ab", "😀😀"], ["abcd", "😀", "😀😀😀"]],
    [v.pipe(v.string(), v.nonEmpty(), v.maxLength(1)), ["😀"], ["😀😀"]],
    [v.pipe(v.union([v.string(), v.number()]) as v.GenericSchema<string>, v.minLength(2)), ["😀😀"], ["😀"]],
  ];
  for (const [schema, fits, others] of table) {
    for (const text of fits) assertEquals(await accepts(schema, text), true, text);
    for (const text of others) assertEquals(await accepts(schema, text), false, text);
  }
});

Deno.test("A fault has the message of the schema's author or of valibot, and lengths of lists count items", async () => {
  const app = new App();
  const seen: unknown[] = [];
  const name = v.pipe(
    v.string(),
    v.minLength(3, ({ input, requirement, received }) => {
      seen.push(String(input), requirement, received);
      return "Too short";
    }),
  );
  const body = v.object({
    name,
    code: v.pipe(v.string(), v.maxLength(2)),
    day: v.pipe(v.string(), v.isoDate()),
    at: v.pipe(v.string(), v.isoTimestamp("No time")),
    list: v.pipe(v.array(v.string()), v.maxLength(1)),
  });
  app.post("/", { body }, async () => 1);
  await using client = new TestClient(app);
  const json = { name: "😀😀", code: "😀😀😀", day: "2026-02-30", at: "2026-01-01 00:00:00Z", list: ["😀", "😀"] };
  const { errors } = await client.post("/", { json }).problem(422);
  assertEquals(errors.map(({ path, message }) => [path.join("."), message]), [
    ["name", "Too short"],
    ["code", "Invalid length: expected <=2"],
    ["day", "Invalid date"],
    ["at", "No time"],
    ["list", "Invalid length: expected <=1"],
  ]);
  assertEquals(seen.slice(0, 3), ["😀😀", 3, "2"]);
});

Deno.test("A check that only resembles one of valibot runs unchanged", async () => {
  const odd = { ...v.isoDate(), "~run": (dataset: unknown) => dataset } as unknown as ReturnType<
    typeof v.isoDate<string>
  >;
  assertEquals(await accepts(v.pipe(v.string(), odd), "no date at all"), true);
});
