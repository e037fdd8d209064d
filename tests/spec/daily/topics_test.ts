// `export const Orders = topic("orders", { schema: Order, durable: true })` at module level: `app.topic(Orders)`
// declares it, `request.app.topic(Orders)` and `Events(Orders)` are typed by it, `router.topic(Orders)` declares it
// with the router. `app.topic("orders")` by name stays; in a handler it gives a `Topic<unknown>` unless the
// application's type knows it.

import { assertEquals, assertRejects, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, Discard, Events, RouteError, Router, SSE, type Topic, topic } from "@webfw/core";
import { client } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { asyncapiOf } from "../../support/asyncapi_apps.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { Serving } from "../support/serving.ts";

const Order = v.object({ id: v.number(), total: v.optional(v.number(), 0) });
const Orders = topic("orders", { schema: Order, durable: true });
const Prices = topic("prices", { schema: v.number() });

function shopRouter(): Router {
  const router = new Router({ prefix: "/orders" });
  router.topic(Orders);
  return router;
}

Deno.test("a topic of a module is declared, published, sent and consumed with its types, on a socket", async () => {
  const app = new App({ topics: ":memory:" });
  const orders = app.topic(Orders);
  const handled = Promise.withResolvers<number>();
  orders.consume("bill", async ({ data }, { app }) => {
    await app.topic(Prices).publish(data.total);
    if (data.total < 0) throw new Discard("The total is negative");
    handled.resolve(data.total);
  });
  app.topic(Prices);
  const post = app.post("/orders", { body: Order }, async (request, { body }) => {
    const published: Topic<v.InferOutput<typeof Order>, v.InferInput<typeof Order>> = request.app.topic(Orders);
    assertStrictEquals(published, orders);
    // @ts-expect-error The data is that of the schema.
    await assertRejects(() => request.app.topic(Orders).publish({ id: "one" }), TypeError);
    return await published.publish(body);
  });
  const events = app.get(
    "/orders/events",
    { response: Events(Orders) },
    async (request) => SSE(request.app.topic(Orders).subscribe({ from: "earliest" })),
  );
  await using server = await Serving.start(app);
  const shop = client<{ post: typeof post; events: typeof events }>(server.origin);
  await shop.post("/orders", { body: { id: 7 } });
  for await (const event of shop.events("/orders/events")) {
    if (event.gap) continue;
    const total: number = event.data.total;
    assertEquals([event.data.id, total], [7, 0]);
    break;
  }
  assertEquals(await handled.promise, 0);
});

Deno.test("it is one object by value and by name; by name, messages are unknown", async () => {
  const app = new App({ topics: ":memory:" });
  const orders = app.topic(Orders);
  assertStrictEquals<unknown>(app.topic("orders"), orders);
  assertStrictEquals<unknown>(app.topic("orders", { schema: Order, durable: true }), orders);
  app.get("/", async (request) => {
    const named: Topic<unknown> = request.app.topic("orders");
    assertStrictEquals<unknown>(named, orders);
    return "same";
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), "same");
});

Deno.test("a router declares its topics with each application that includes it, at any depth", async () => {
  const outer = new Router();
  outer.topic(Orders);
  outer.topic(Orders);
  outer.include(shopRouter(), { prefix: "/a" });
  for (const include of [shopRouter(), outer]) {
    const app = new App({ topics: ":memory:" });
    app.include(include);
    app.include(include, { prefix: "/again" });
    const document = JSON.stringify(await asyncapiOf(app));
    assertEquals(document.match(/"topicOrders":/g)?.length, 1);
    const { topics } = await app.reportTopics();
    assertEquals(topics.map(({ name }) => name), ["orders"]);
    await app.topic(Orders).publish({ id: 1 });
    await app.stop();
  }
});

Deno.test("other options under one name are a TypeError, and an include that has them adds nothing", async () => {
  const Other = topic("orders", { schema: Order });
  const message = 'Cannot declare the topic "orders" again: its durable is another one';
  const app = new App({ topics: ":memory:" });
  app.topic(Other);
  assertThrows(() => app.topic(Orders), TypeError, message);
  const router = shopRouter();
  router.topic(Prices);
  router.get("", async () => "order");
  assertThrows(() => router.topic(Other), TypeError, message);
  assertThrows(() => app.include(router), TypeError, message);
  assertEquals([app.routes.length, JSON.stringify(await asyncapiOf(app)).includes("prices")], [0, false]);
  // It stays open.
  router.get("/more", async () => "more");
  const outer = new Router();
  outer.topic(Other);
  assertThrows(() => outer.include(router), TypeError, message);
  assertThrows(() => app.topic(topic("orders", { schema: v.number() })), TypeError, "its schema is another one");
});

Deno.test("a topic that a handler uses and no application or router declared is an error that says so", async () => {
  using log = new CapturedLog();
  const app = new App({ topics: ":memory:" });
  app.get("/", async (request) => await request.app.topic(Orders).head());
  app.get("/memory", async (request) => await request.app.topic(Prices).head());
  // Of this name, but not this topic.
  app.get("/by-name", async (request) => {
    request.app.topic("prices", { schema: v.number() });
    return await request.app.topic(Prices).head();
  });
  await using client = new TestClient(app);
  for (const [path, name] of [["/", "orders"], ["/memory", "prices"], ["/by-name", "prices"]]) {
    const response = await client.get(path!);
    assertEquals(response.status, 500);
    await response.body?.cancel();
    assertStringIncludes(
      log.lines.at(-1)!,
      `Cannot use the topic \\"${name}\\": the application that serves has not declared it, call app.topic(…) or router.topic(…) before the first request`,
    );
  }
});

Deno.test("a mounted application has topics of its own, and names one that only the outer one declared", async () => {
  const inner = new App({ topics: ":memory:" });
  inner.get("/", async (request) => {
    assertThrows(() => request.app.topic(Prices), RouteError, 'Cannot use the topic "prices"');
    return "refused";
  });
  const app = new App({ topics: ":memory:" });
  app.topic(Prices);
  app.mount("/inner", inner);
  const response = await app.fetch(new Request("http://localhost/inner/"));
  assertEquals(await response.json(), "refused");
  await app.stop();
});

Deno.test("mistakes throw where they are made", async () => {
  assertThrows(() => topic(""), TypeError, "Cannot make a topic: its name must be a string of 1 to 256 characters");
  assertThrows(() => topic("a", { duarble: true } as object), TypeError, 'the option "duarble" is unknown');
  assertThrows(() => topic("a", { buffer: 0 }), RangeError, "Cannot set the buffer of the topic");
  assertThrows(() => topic("a", { schema: v.date() }), TypeError, "its messages are kept as JSON");
  const app = new App({ topics: ":memory:" });
  const router = new Router();
  // @ts-expect-error A router has values alone: a name says nothing of the options.
  const byName = () => router.topic("orders");
  assertThrows(byName, TypeError, "Cannot declare the topic: it must be what topic(name, options)");
  // @ts-expect-error The options are those of the value.
  const twice = () => app.topic(Prices, { durable: true });
  assertThrows(twice, TypeError, "its options are those of topic(…)");
  app.include(router);
  assertThrows(
    () => router.topic(Orders),
    RouteError,
    'Cannot declare the topic "orders": the router has been included',
  );
  await (await app.fetch(new Request("http://localhost/"))).body?.cancel();
  assertThrows(() => app.include(shopRouter()), RouteError, "Cannot include a router");
  assertThrows(() => app.topic(Orders), RouteError, 'Cannot use the topic "orders"');
  await app.stop();
});

Deno.test("`request.app.reportTopics()`: a route for operators has the report", async () => {
  const app = new App({ topics: ":memory:" });
  app.topic(Orders).consume("bill", () => {});
  app.cron("digest", "0 3 * * *", async () => {});
  app.get("/report", async (request) => {
    const { topics, crons } = await request.app.reportTopics();
    return { topics: topics.map(({ name, messages, consumers }) => [name, messages, consumers.length]), crons };
  });
  await using client = new TestClient(app);
  await app.topic(Orders).publish({ id: 1 });
  const { topics, crons } = await client.get("/report").json() as { topics: unknown; crons: { name: string }[] };
  assertEquals([topics, crons.map(({ name }) => name)], [[["orders", 1, 1]], ["digest"]]);
});
