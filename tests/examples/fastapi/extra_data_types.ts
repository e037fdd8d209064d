// UUIDs, dates, times, durations, decimals and large integers.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Duration = v.pipe(
  v.string(),
  v.regex(/^P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?$/, "Write a duration such as PT30M"),
  v.transform((text) => Temporal.Duration.from(text)),
);
const Loan = v.object({
  from: v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
  on: v.pipe(v.string(), v.isoDate()),
  at: v.optional(v.pipe(v.string(), v.isoTime())),
  takes: Duration,
  price: v.pipe(v.string(), v.decimal()),
  count: v.bigint(),
});
const Reply = v.object({ id: v.string(), from: v.date(), until: v.date(), count: v.bigint() });

const app = new App();
app.put("/loans/{id}", {
  params: { id: v.pipe(v.string(), v.uuid()) },
  body: Loan,
  response: Reply,
}, async (_request, { id, body: { from, takes, count } }) => {
  return { id, from, until: new Date(from.getTime() + takes.total("milliseconds")), count };
});

Deno.test("extra data types: UUIDs, dates, times, durations, decimals, large integers", async () => {
  await using client = new TestClient(app);
  const id = crypto.randomUUID();
  const json = {
    from: "2026-11-28T10:00:00Z",
    on: "2026-11-28",
    at: "10:30",
    takes: "PT30M",
    price: "12.50",
    count: "9007199254740993",
  };
  assertEquals(await client.put(`/loans/${id}`, { json }).json(), {
    id,
    from: "2026-11-28T10:00:00.000Z",
    until: "2026-11-28T10:30:00.000Z",
    count: "9007199254740993",
  });
  const wrong = { ...json, on: "28.11.2026", at: "noon", takes: "30 minutes", price: "cheap" };
  const { errors } = await client.put("/loans/7", { json: wrong }).problem(422);
  assertEquals(errors.map(({ path }) => path[0]), ["id", "on", "at", "takes", "price"]);
});
