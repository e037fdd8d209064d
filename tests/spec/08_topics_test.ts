// Section 8 of the contract: topics in memory; and the parts of section 13 about them.

import { assert, assertEquals, assertMatch, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { App, InvalidMessageError, type Subscription, type TopicEntry } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { Serving } from "./support/serving.ts";
import { ticks } from "./support/ticks.ts";
import { until } from "../support/wait.ts";

const Price = v.object({ item: v.string(), price: v.number() });

/** The data of the next messages, and the reasons of gaps. */
async function read<Data>(subscription: Subscription<Data>, count: number): Promise<(Data | string)[]> {
  const found: (Data | string)[] = [];
  while (found.length < count) {
    const { value } = await subscription.next();
    assert(value, "The subscription has ended");
    found.push("gap" in value ? value.gap.reason : value.data);
  }
  return found;
}

Deno.test("topic(name) is the same topic every time, also by request.app", async () => {
  const app = new App();
  const prices = app.topic("prices", { schema: Price });
  assertStrictEquals(app.topic("prices") as unknown, prices);
  assertStrictEquals(app.topic("prices", { schema: Price }), prices);
  app.post("/prices", { body: Price, status: 201 }, async (request, { body }) => {
    assertStrictEquals(request.app.topic("prices", { schema: Price }), prices);
    return await request.app.topic("prices").publish(body);
  });
  await using client = new TestClient(app);
  const subscription = prices.subscribe();
  const published = await client.post("/prices", { json: { item: "tea", price: 3 } }).json<{ id: string }>();
  const { value } = await subscription.next();
  assert(value && "data" in value);
  assertEquals([value.id, value.data], [published.id, { item: "tea", price: 3 }]);
});

Deno.test("Applications do not share topics", async () => {
  const [one, other] = [new App(), new App()];
  await one.topic("a").publish(1);
  const subscription = other.topic("a").subscribe({ from: "earliest" });
  await other.topic("a").publish(2);
  assertEquals(await read(subscription, 1), [2]);
});

Deno.test("A topic is declared once: different options are an error", () => {
  const app = new App();
  app.topic("prices", { schema: Price, retention: { age: "7d", count: 100_000 } });
  app.topic("prices", { retention: { age: 604_800_000, count: 100_000 } });
  assertThrows(() => app.topic("prices", { schema: v.any() }), TypeError, 'Cannot declare the topic "prices" again');
  assertThrows(() => app.topic("a", { retention: { age: "soon" as "1s" } }), RangeError, "retention.age");
  assertThrows(() => app.topic(""), TypeError, "its name");
});

Deno.test("publish() gives the event's id, and for the same message id the same event", async () => {
  const orders = new App().topic<{ id: string }>("orders");
  const subscription = orders.subscribe();
  const first = await orders.publish({ id: "o-1" }, { id: "o-1" });
  assertEquals(first.duplicate, false);
  const again = await Promise.all([1, 2].map(() => orders.publish({ id: "o-1" }, { id: "o-1" })));
  assertEquals(again, again.map(() => ({ id: first.id, duplicate: true })));
  await orders.publish({ id: "o-2" });
  assertEquals(await read(subscription, 2), [{ id: "o-1" }, { id: "o-2" }]);
});

Deno.test("subscribe() yields { id, type, data, time }, and is closed with return()", async () => {
  const topic = new App().topic<number>("numbers");
  const subscription = topic.subscribe();
  const before = Date.now();
  const { id } = await topic.publish(1, { type: "one" });
  const { value } = await subscription.next();
  assert(value && "id" in value);
  assertEquals(Object.keys(value).sort(), ["data", "id", "time", "type"]);
  assertEquals([value.id, value.type, value.data], [id, "one", 1]);
  assert(value.time.getTime() >= before && value.time.getTime() <= Date.now());
  const waiting = subscription.next();
  assertEquals(await subscription.return(), { done: true, value: undefined });
  assertEquals(await waiting, { done: true, value: undefined });
});

Deno.test("Ids are opaque texts of one width, greater for later messages", async () => {
  const topic = new App().topic("numbers");
  const ids: string[] = [await topic.head()];
  for (let number = 0; number < 300; number++) ids.push((await topic.publish(number)).id);
  for (const id of ids) assertMatch(id, /^[!-~]+$/);
  assertEquals(new Set(ids.map((id) => id.length)).size, 1);
  assertEquals(ids, ids.toSorted());
});

Deno.test("subscribe() is live from the call, and begins after an id, at the earliest, or at a time", async () => {
  const topic = new App().topic<number>("numbers");
  const live = topic.subscribe();
  const first = await topic.publish(1);
  await topic.publish(2);
  assertEquals(await read(live, 2), [1, 2]);
  assertEquals(await read(topic.subscribe({ after: first.id }), 1), [2]);
  assertEquals(await read(topic.subscribe({ from: "earliest" }), 2), [1, 2]);
  assertEquals(await read(topic.subscribe({ from: new Date(0) }), 2), [1, 2]);
  const late = [topic.subscribe({ from: new Date(Date.now() + 60_000) }), topic.subscribe({ from: "now" })];
  await topic.publish(3);
  for (const subscription of late) assertEquals(await read(subscription, 1), [3]);
  assertThrows(() => topic.subscribe({ after: "garbage" }), SyntaxError);
});

Deno.test("A subscription is closed by its signal", async () => {
  const topic = new App().topic("numbers");
  const controller = new AbortController();
  const waiting = topic.subscribe({ signal: controller.signal }).next();
  await ticks(1);
  controller.abort();
  assertEquals(await waiting, { done: true, value: undefined });
});

Deno.test("head() is the newest id; on an empty topic it is the id to resume from", async () => {
  const topic = new App().topic<string>("news");
  const rendered = await topic.head();
  const { id } = await topic.publish("while the page was on its way");
  assertEquals(await topic.head(), id);
  assertEquals(await read(topic.subscribe({ after: rendered }), 1), ["while the page was on its way"]);
});

Deno.test("A memory topic keeps its last 1,000 messages by default", async () => {
  const app = new App();
  const usual = app.topic<number>("usual");
  const short = app.topic<number>("short", { retention: { count: 10 } });
  for (const topic of [usual, short]) await Promise.all(Array.from({ length: 1500 }, (_, data) => topic.publish(data)));
  const numbers = (first: number) => Array.from({ length: 1500 - first }, (_, index) => first + index);
  assertEquals(await read(usual.subscribe({ from: "earliest" }), 1000), numbers(500));
  assertEquals(await read(short.subscribe({ from: "earliest" }), 10), numbers(1490));
});

Deno.test("A reader gets a gap where messages are missing: retention, slow, epoch, ahead", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers", { retention: { count: 2 } });
  const slow = topic.subscribe();
  const start = await topic.head();
  const ids: string[] = [];
  for (const data of [1, 2, 3]) ids.push((await topic.publish(data)).id);
  const foreign = (await app.topic("another").publish(0)).id;
  const ahead = ids[2]!.slice(0, -1) + "f";
  const gaps: [reason: string, from: string, subscription: Subscription<number>][] = [
    ["slow", start, slow],
    ["retention", start, topic.subscribe({ after: start })],
    ["epoch", foreign, topic.subscribe({ after: foreign })],
    ["ahead", ahead, topic.subscribe({ after: ahead })],
  ];
  for (const [reason, from, subscription] of gaps) {
    const { value } = await subscription.next();
    assertEquals(value, { gap: { reason, from, oldest: ids[1]! } } as TopicEntry<number>);
    assertEquals(await read(subscription, 2), [2, 3]);
  }
  // The reader of the newest message that was removed has missed nothing.
  assertEquals(await read(topic.subscribe({ after: ids[0]! }), 2), [2, 3]);
});

Deno.test("publish failures: a schema is a TypeError with issues, a large message a RangeError", async () => {
  const app = new App();
  const prices = app.topic("prices", { schema: Price });
  const invalid = () => prices.publish({ item: 5, price: "3" } as never);
  const error = await assertRejects(invalid, TypeError, 'Cannot publish to the topic "prices"');
  assert(error instanceof InvalidMessageError);
  assertEquals(error.issues.map(({ path }) => path), [["item"], ["price"]]);
  await assertRejects(() => prices.publish({ item: "x".repeat(2 ** 20), price: 1 }), RangeError, "bytes");
  const aborted = AbortSignal.abort(new RangeError("No time"));
  await assertRejects(() => prices.publish({ item: "tea", price: 3 }, { signal: aborted }), RangeError, "No time");
});

Deno.test("A handler can return a subscription: each entry is one line, and it is closed with the client", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers");
  let subscription: Subscription<number> | undefined;
  app.get("/numbers", async () => subscription = topic.subscribe({ from: "earliest" }));
  const { id } = await topic.publish(1);
  await using serving = await Serving.start(app);
  const response = await fetch(`${serving.origin}/numbers`);
  assertEquals(response.headers.get("content-type"), "application/jsonl");
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const line = JSON.parse((await reader.read()).value!);
  assertEquals([line.id, line.data], [id, 1]);
  await reader.cancel();
  // Until then another read is refused, since that of the client is waiting.
  const hasEnded = () => subscription!.nextBatch().then((batch) => batch === undefined, () => false);
  await until("the subscription ends", hasEnded);
});

Deno.test("When the application stops, subscriptions end, and afterwards a topic is empty", async () => {
  const app = new App();
  const topic = app.topic<string>("news", { retention: { age: "1h" } });
  app.lifespan(async function* (app) {
    yield;
    await app.topic("news").publish("the end");
  });
  const subscription = topic.subscribe();
  const { id } = await topic.publish("before");
  await app.start();
  assertEquals(await read(subscription, 1), ["before"]);
  const waiting = subscription.next();
  await app.stop();
  assertEquals(await waiting, { done: true, value: undefined });
  await topic.publish("after");
  assertEquals(await read(topic.subscribe({ after: id }), 2), ["epoch", "after"]);
  await app.stop();
});

Deno.test("A server that is stopped ends its readers: lines that it has not finished break off", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers");
  app.get("/numbers", async () => topic.subscribe({ from: "earliest" }));
  await topic.publish(1);
  const serving = await Serving.start(app, { gracePeriod: "20s" });
  const response = await fetch(`${serving.origin}/numbers`);
  const reader = response.body!.getReader();
  await reader.read();
  await serving.stop();
  await assertRejects(() => reader.read());
});

Deno.test("A topic does not keep a program alive, whatever its messages and readers", async () => {
  await using program = await ChildProgram.start(`
    import { App } from "${CORE}";
    const topic = new App().topic("numbers", { retention: { age: "1h" } });
    const subscription = topic.subscribe();
    await topic.publish(1, { id: "one" });
    await subscription.next();
    subscription.next();
    console.log("done");
  `);
  const { code, stdout, stderr } = await program.end();
  assertEquals([code, stdout, stderr], [0, "done\n", ""]);
});

Deno.test("A name that is first used while serving, beside declared topics, is warned of with the nearest name", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.topic("orders");
  app.topic("prices");
  app.post("/{name}", async (request, { name }) => await request.app.topic(name).publish(1));
  const publish = (name: string) => app.fetch(new Request(`http://localhost/${name}`, { method: "POST" }));
  for (const name of ["order", "orders", "order", "price"]) assertEquals((await publish(name)).status, 200);
  const warnings = () => log.lines.filter((line) => line.includes("A topic that is not declared is used"));
  assertEquals(warnings().map((line) => /topic=\S+ nearest=\S+/.exec(line)?.[0]), [
    "topic=order nearest=orders",
    "topic=price nearest=prices",
  ]);
  // Names may come from clients.
  for (let room = 0; room < 100; room++) await publish(`room${room}`);
  assertEquals(warnings().length, 20);
  assert(warnings().at(-1)!.endsWith('note="further names are not logged"'));
  await app.stop();
});

Deno.test("Where no topic is declared, names are the business of the application", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.get("/", async (request) => (await request.app.topic("order").publish(1)).duplicate);
  assertEquals((await app.fetch(new Request("http://localhost/"))).status, 200);
  assertEquals(log.text, "");
  await app.stop();
});
