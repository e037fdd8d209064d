// The board shows the applications that are mounted: they start and stop with the one that mounts
// them, and their requests, messages and work are part of "what an application does" (board.md).

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as v from "valibot";
import { App, dependency } from "../../../mod.ts";
import { apiKey } from "../../../src/auth/mod.ts";
import { ProblemError } from "../../../src/client/mod.ts";
import { boardOf, first, showBoard } from "./board.ts";

const key = apiKey(async (key) => key === "k-1" && { name: "Ada" }, { in: "header", name: "x-shop" });

/** An application with a shop below `/shop`, which has stock below `/shop/stock`. */
function mountedApps(): App {
  const log = () => {};
  const stock = new App({ log, docsUrl: null });
  stock.get("/{item}", async function readStock(_request, { item }) {
    return { item };
  });
  const shop = new App({ log });
  const orders = shop.topic("orders", { schema: v.object({ id: v.string() }) });
  orders.consume("mail", { retry: { attempts: 1 } }, async ({ data }) => {
    if (data.id === "bad") throw new Error("No such mailbox");
  });
  shop.cron("sweep", "30 2 * * *", async () => {});
  const price = dependency(async function price() {
    return 7;
  });
  shop.middleware(async function timing(request, next) {
    return await next(request);
  });
  shop.get("/items/{item}", { deps: { price } }, async function readItem(_request, { item, price }) {
    await orders.publish({ id: item });
    return { item, price };
  });
  shop.get("/broken", async () => {
    throw new Error("The ledger is locked");
  });
  shop.mount("/stock", stock);
  const app = new App({ log, deps: { key } });
  app.topic("orders");
  app.mount("/shop", shop);
  showBoard(app);
  return app;
}

async function ask(app: App, path: string): Promise<void> {
  const response = await app.fetch(new Request(`http://localhost${path}`, { headers: { "x-shop": "k-1" } }));
  await response.body?.cancel();
}

/** The first reading of work that has what a test waits for. */
async function reading(app: App, isThere: (work: Awaited<ReturnType<typeof readWork>>) => boolean) {
  for (;;) {
    const work = await readWork(app);
    if (isThere(work)) return work;
  }
}

async function readWork(app: App) {
  return await first(boardOf(app).events("/api/work/events"));
}

async function requestAt(app: App, path: string) {
  const board = boardOf(app);
  const { requests } = await first(board.events("/api/requests/events"));
  return await board.get("/api/requests/{number}", { number: requests.find(({ url }) => url === path)!.number });
}

Deno.test("A request to a mounted application is one request, with the route and the parts of both", async () => {
  const app = mountedApps();
  await ask(app, "/shop/items/tea");
  await ask(app, "/shop/stock/tea");
  await ask(app, "/shop/broken");
  await ask(app, "/shop/nothing");
  const { requests } = await first(boardOf(app).events("/api/requests/events"));
  assertEquals(requests.map(({ route, status, who }) => [route, status, who]), [
    ["* /shop", 404, "apiKey"],
    ["GET /shop/broken", 500, "apiKey"],
    ["GET /shop/stock/{item}", 200, "apiKey"],
    ["GET /shop/items/{item}", 200, "apiKey"],
  ]);
  const { parts, published, headers } = await requestAt(app, "/shop/items/tea");
  const names = parts.map(({ kind, name }) => `${kind} ${name}`.trim()).filter((name) => name !== "precheck");
  assertEquals(names, [
    "guard apiKey",
    "validation",
    "mount /shop",
    "middleware timing",
    "validation",
    "dependency price",
    "handler GET /items/{item}",
    "reply",
    "reply",
  ]);
  assertEquals(headers.find(([name]) => name === "x-shop"), ["x-shop", "REDACTED"]);
  assertEquals(published.map(({ topic }) => topic), ["orders"]);
  assertStringIncludes((await requestAt(app, "/shop/broken")).error!, "The ledger is locked");
  await app.stop();
});

Deno.test("The keys of a mounted application's guards are redacted", async () => {
  const inner = new App();
  inner.get("/", { deps: { key } }, async () => "inner");
  const app = new App();
  app.mount("/inner", inner);
  showBoard(app);
  await ask(app, "/inner/");
  const { headers, parts } = await requestAt(app, "/inner/");
  assertEquals(headers.find(([name]) => name === "x-shop"), ["x-shop", "REDACTED"]);
  assert(parts.some(({ kind, name }) => kind === "guard" && name === "apiKey"));
  await app.stop();
});

Deno.test("Routes of mounted applications have their whole path, the guards around the mount, and their calls", async () => {
  const app = mountedApps();
  await ask(app, "/shop/items/tea");
  for (let index = 0; index < 200; index++) await ask(app, "/shop/stock/tea");
  await ask(app, "/shop/broken");
  const routes = await first(boardOf(app).events("/api/routes/events"));
  assertEquals(routes.map(({ method, path, calls, errors }) => [`${method} ${path}`, calls, errors]), [
    ["* /shop", 202, 1],
    ["GET /shop/items/{item}", 1, 0],
    ["GET /shop/broken", 1, 1],
    ["* /shop/stock", 200, 0],
    ["GET /shop/stock/{item}", 200, 0],
  ]);
  assertEquals([...new Set(routes.map(({ guards }) => guards.join()))], ["apiKey"]);
  assertEquals(routes.map(({ docs }) => docs), [null, "/shop/docs", "/shop/docs", null, null]);
  assert(routes.at(-1)!.p50! > 0);
  await app.stop();
});

Deno.test("A failed request that is only counted has the error of the mounted application", async () => {
  const app = mountedApps();
  for (let index = 0; index < 400; index++) await ask(app, "/shop/stock/tea");
  await ask(app, "/shop/broken");
  assertStringIncludes((await requestAt(app, "/shop/broken")).error!, "The ledger is locked");
  await app.stop();
});

Deno.test("Topics, consumers and crons of mounted applications are shown with their place, and operated", async () => {
  const app = mountedApps();
  await app.start();
  const board = boardOf(app);
  const publish = (id: unknown) => board.post("/api/publish", { body: { topic: "/shop orders", data: { id } } });
  const { id } = await publish("bad");
  const { topics, consumers, crons } = await reading(app, ({ consumers }) => consumers[0]?.failures === 1);
  assertEquals(topics.map(({ name, messages }) => [name, messages]), [["/shop orders", 1], ["orders", 0]]);
  assertEquals(consumers.map(({ topic, name }) => [topic, name]), [["/shop orders", "mail"]]);
  assertEquals(crons.map(({ name, next }) => [name, next.length]), [["/shop sweep", 5]]);
  const where = { topic: "/shop orders", consumer: "mail" };
  assertEquals((await board.get("/api/failures", where)).map(({ error }) => error), ["No such mailbox"]);
  assertEquals((await board.get("/api/messages", { topic: where.topic })).messages.map((one) => one.id), [id]);
  assert((await board.get("/api/schema", { topic: where.topic })).schema !== null);
  assertEquals((await assertRejects(() => publish(7), ProblemError)).status, 422);
  const change = (action: "pause" | "discard") => board.post("/api/consumers/{action}", { action, body: where });
  assertEquals((await change("discard")).message, "1 message is discarded");
  await change("pause");
  await reading(app, ({ consumers: [mail] }) => mail!.paused !== null && mail!.failures === 0);
  assertEquals((await board.post("/api/crons/run", { body: { name: "/shop sweep" } })).error, null);
  await app.stop();
});

Deno.test("A mounted application with a board of its own records its own requests", async () => {
  const inner = new App({ log: () => {} });
  inner.get("/", async () => "inner");
  showBoard(inner);
  const app = new App({ log: () => {} });
  app.mount("/inner", inner);
  showBoard(app);
  await ask(app, "/inner/");
  assertEquals((await requestAt(app, "/inner/")).route, "* /inner");
  assertEquals((await requestAt(inner, "/")).route, "GET /");
  await app.stop();
});
