// "`events` yields `{ id, type, data }` and `{ gap: { reason, from, oldest } }`." Pauses, silences and
// broken connections are in tests/unit/client/events_test.ts, where the tests play the clock.

import { assertEquals, assertRejects } from "@std/assert";
import { App, Events, HTTPError, SSE } from "@webfw/core";
import { client, type ClientOptions, ProblemError } from "@webfw/core/client";
import * as v from "valibot";
import { Serving } from "../support/serving.ts";

const Order = v.object({ item: v.string(), at: v.date() });
const at = new Date(0).toISOString();

/** A running server, which keeps two orders, and what a module would export of it. */
async function start() {
  const app = new App();
  const orders = app.topic("orders", { schema: v.object({ item: v.string() }), retention: { count: 2 } });
  const asked: (string | null)[] = [];
  const api = {
    orders: app.get("/orders", { response: Events(orders) }, async () => SSE(orders.subscribe({ from: "earliest" }))),
    dated: app.get("/dated", { response: Events(Order) }, async function* () {
      yield { event: "paid", id: "7", data: { item: "Tea", at: new Date(0) } };
      yield { item: "Milk", at: new Date(0) };
    }),
    short: app.get("/short", { response: Events(v.number()) }, async function* ({ lastEventId }) {
      asked.push(lastEventId);
      const after = Number(lastEventId ?? 0);
      yield { id: `${after + 1}`, retry: 1, data: after + 1 };
    }),
    few: app.get("/few", { response: Events(v.number()) }, async ({ lastEventId }) => {
      if (lastEventId === "2") return new Response(null, { status: 204 });
      return SSE((async function* () {
        yield { id: "1", retry: 1, data: 1 } as const;
        yield { id: "2", data: 2 } as const;
      })());
    }),
    refused: app.get("/refused", { response: Events(v.number()) }, async () => {
      throw new HTTPError(403, "Not yours");
    }),
  };
  const serving = await Serving.start(app);
  return {
    orders,
    asked,
    shop: (options?: ClientOptions) => client<typeof api>(serving.origin, options),
    [Symbol.asyncDispose]: () => serving.stop(),
  };
}

Deno.test("events: yields `{ id, type, data }`, whose data is the JSON form of the schema's output", async () => {
  await using server = await start();
  const events = server.shop().events("/dated");
  assertEquals((await events.next()).value, { id: "7", type: "paid", data: { item: "Tea", at } });
  assertEquals((await events.next()).value, { id: "7", type: "message", data: { item: "Milk", at } });
  await events.return!();
});

Deno.test("events: yields `{ gap: { reason, from, oldest } }` where messages of a topic are missing", async () => {
  await using server = await start();
  const ids: string[] = [];
  for (const item of ["Tea", "Milk", "Bread", "Salt"]) ids.push((await server.orders.publish({ item })).id);
  const [from = "", , oldest] = ids;
  const events = server.shop().events("/orders", {}, { headers: { "last-event-id": from } });
  assertEquals((await events.next()).value, { gap: { reason: "retention", from, oldest } });
  assertEquals((await events.next()).value, { id: oldest, type: "message", data: { item: "Bread" } });
  await events.return!();
});

Deno.test("events: when the connection ends it comes back with `Last-Event-ID`, and goes on where it was", async () => {
  await using server = await start();
  const numbers: unknown[] = [];
  for await (const event of server.shop().events("/short")) {
    if (event.gap || numbers.push(event.data) === 4) break;
  }
  assertEquals([numbers, server.asked], [[1, 2, 3, 4], [null, "1", "2", "3"]]);
});

Deno.test("events: ends at 204 and, without an error, at `signal`; a 4xx is thrown", async () => {
  await using server = await start();
  const seen: unknown[] = [];
  for await (const event of server.shop().events("/few")) seen.push(event.gap ?? [event.id, event.data]);
  assertEquals(seen, [["1", 1], ["2", 2]]);
  await server.orders.publish({ item: "Tea" });
  for (const whose of ["client", "call"]) {
    const stop = new AbortController();
    const options = { signal: stop.signal };
    const shop = server.shop(whose === "client" ? options : {});
    const events = shop.events("/orders", {}, whose === "call" ? options : {});
    assertEquals((await events.next()).done, false);
    const end = events.next();
    stop.abort();
    assertEquals(await end, { done: true, value: undefined });
  }
  const error = await assertRejects(() => server.shop().events("/refused").next(), ProblemError);
  assertEquals([error.status, error.problem.detail], [403, "Not yours"]);
});
