// Section 7 of the contract, for streams of several topics: each resumes separately, and a fault of
// one does not affect the others.

import { App, SSE } from "@webfw/core";
import type { SSEOptions } from "@webfw/core/types";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { EventReader } from "./support/event_reader.ts";
import { Serving } from "./support/serving.ts";

/** An application that sends two topics in one stream; the first keeps little. */
function shop(options?: SSEOptions) {
  const app = new App();
  const orders = app.topic<number>("orders", { retention: { count: 3 } });
  const notes = app.topic<string>("notes");
  app.get("/", async () => SSE([orders.subscribe(), notes.subscribe()], options));
  const open = async (lastEventId = "") => {
    const headers = { "last-event-id": lastEventId };
    return new EventReader(await app.fetch(new Request("http://localhost/", { headers })));
  };
  return { app, orders, notes, open };
}

Deno.test("A gap names its topic, and the other topic misses nothing", async () => {
  const { orders, notes, open } = shop();
  await orders.publish(0);
  let place: string;
  {
    await using reader = await open();
    await reader.block();
    place = reader.lastEventId;
  }
  for (let order = 1; order <= 5; order++) await orders.publish(order);
  await notes.publish("kept");
  await using again = await open(place);
  const events = await again.take(5);
  const gaps = events.filter(({ event }) => event === "webfw.gap").map(({ data }) => JSON.parse(data));
  assertEquals(gaps.map(({ topic, reason }) => [topic, reason]), [["orders", "retention"]]);
  const data = events.filter(({ event }) => event === "message").map(({ data }) => data);
  assertEquals(data.toSorted(), ['"kept"', "3", "4", "5"]);
});

Deno.test("A client that comes back after any of the events gets exactly the others", async () => {
  const { orders, notes, open } = shop();
  await using all = await open();
  await all.block();
  for (const order of [1, 2]) {
    await orders.publish(order);
    await notes.publish(`note ${order}`);
  }
  const events = await all.take(4);
  for (const [index, { id }] of events.entries()) {
    await using again = await open(id);
    const rest = await again.take(3 - index);
    const expected = events.slice(index + 1).map(({ data }) => data);
    assertEquals(rest.map(({ data }) => data).toSorted(), expected.toSorted());
  }
});

Deno.test("A topic that the id does not name begins as without an id, and an unknown topic in the id is ignored", async () => {
  const { app, orders, notes, open } = shop();
  const place = await orders.head();
  await orders.publish(1);
  await notes.publish("before");
  const others = await app.topic("others").head();
  await using reader = await open(`orders=${place},others=${others}`);
  assertEquals((await reader.take(1)).map(({ data }) => data), ["1"]);
  await notes.publish("after");
  assertEquals((await reader.take(1)).map(({ data }) => data), ['"after"']);
});

Deno.test('Names, encode: "text" and retry are as with one topic', async () => {
  const { orders, notes, open } = shop({ encode: "text", retry: 20 });
  await using reader = await open();
  await reader.block();
  assertEquals(reader.retry, 20);
  await notes.publish("two\nlines", { type: "memo" });
  await orders.publish(1);
  const events = (await reader.take(2)).map(({ event, data }) => [event, data]);
  assertEquals(events.toSorted(), [["memo", "two\nlines"], ["message", "1"]]);
});

Deno.test("A heartbeat repeats the client's position in each topic", async () => {
  const { app, orders, notes } = shop({ heartbeat: 20 });
  // Its connection keeps the program running: timers of heartbeats do not.
  await using serving = await Serving.start(app);
  await using reader = new EventReader(await fetch(serving.origin));
  await reader.block();
  const { id } = await orders.publish(1);
  await reader.take(1);
  assertEquals(await reader.block(), `:\nid: orders=${id},notes=${await notes.head()}`);
});

Deno.test("A reply ends when the application stops, and garbage for any of the topics is 400", async () => {
  const { app, orders, open } = shop();
  const head = await orders.head();
  for (const id of [head, `orders=${head},notes=1`, "orders", `orders=${head},%E0=${head}`]) {
    const response = await app.fetch(new Request("http://localhost/", { headers: { "last-event-id": id } }));
    const { detail } = await response.json();
    assertEquals(response.status, 400, id);
    assertStringIncludes(detail, "none of its events has such an id");
  }
  const reader = await open();
  assert((await reader.block())?.startsWith("id: orders="));
  const end = reader.next();
  await app.stop();
  assertEquals(await end, undefined);
});
