// "Nothing of it is loaded, recorded or measured where it is off; […] what it keeps is bounded: 500
// requests, 5 MiB, 10 minutes of points for plots. […] Requests: time, method, path, route, status,
// duration, who (the guard's name, not its secret) […] waterfall of its parts: precheck, each
// middleware, guard, dependency, validation, handler, model, reply, tasks after it; headers (secrets
// redacted as in the log), the 422's issues, its log entries, its error with the application's
// frames; what it published" (board.md, sections 1 and 2)

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import * as v from "valibot";
import { App, dependency } from "../../../mod.ts";
import { apiKey, bearer } from "../../../src/auth/mod.ts";
import { MAX_BYTES, MAX_REQUESTS } from "../../../src/board/recorder.ts";
import { Histogram, POINT, RequestPoints } from "../../../src/board/statistics.ts";
import { boardOf, first, showBoard } from "./board.ts";

const ask = async (app: App, path: string, init?: RequestInit) =>
  await (await app.fetch(new Request(`http://localhost${path}`, init))).text();

/** The details of the newest request. */
async function newest(app: App) {
  const board = boardOf(app);
  const { requests } = await first(board.events("/api/requests/events"));
  return await board.get("/api/requests/{number}", { number: requests[0]!.number });
}

Deno.test("A request is recorded with each of its parts, in their order", async () => {
  const app = new App();
  const user = bearer(async (token) => token === "t-1" && { name: "Ada" });
  const database = dependency(async () => "database");
  const orders = app.topic("orders");
  app.middleware(async function timing(request, next) {
    return await next(request);
  });
  const { promise: done, resolve } = Promise.withResolvers<void>();
  app.post("/orders/{id}", {
    params: { id: v.number() },
    body: v.object({ item: v.string() }),
    deps: { user, database },
    response: v.object({ id: v.number() }),
  }, async (request, { id, body }) => {
    request.log.info("Taken", { item: body.item });
    await orders.publish({ id });
    request.after(async function sendMail() {
      resolve();
    });
    return { id };
  });
  showBoard(app);
  await ask(app, "/orders/7?from=page", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer t-1" },
    body: '{"item":"tea"}',
  });
  await done;
  const { number: _, version: __, time, duration, parts, entries, published, ...rest } = await newest(app);
  assert(Math.abs(time - Date.now()) < 60_000 && duration !== null && duration >= 0);
  assertEquals(parts.map(({ kind, name }) => `${kind} ${name}`.trim()), [
    "precheck",
    "middleware timing",
    "guard bearer",
    "validation",
    "dependency database",
    "handler POST /orders/{id}",
    "model",
    "reply",
    "task sendMail",
  ]);
  assert(parts.every(({ begin, end = -1, failed }) => end >= begin && !failed));
  assertEquals(entries.map(({ level, message, fields }) => [level, message, JSON.parse(fields).item]), [
    ["info", "Taken", "tea"],
  ]);
  assertEquals(published.map(({ topic, bytes, failed }) => ({ topic, bytes, failed })), [
    { topic: "orders", bytes: 8, failed: false },
  ]);
  assertMatch(published[0]!.id!, /^[0-9a-f]{8}-/);
  assertEquals(rest, {
    ...{
      method: "POST",
      url: "/orders/7?from=page",
      route: "POST /orders/{id}",
      status: 200,
      who: "bearer",
      dropped: 0,
    },
    headers: [["authorization", "Bearer REDACTED"], ["content-type", "application/json"]],
    replyHeaders: [["content-type", "application/json"]],
    ...{ issues: [], error: null, body: null },
  });
  await app.stop();
});

Deno.test("A refused request has its issues, and a failed one its error with the frames of the application", async () => {
  const app = new App({ log: () => {} });
  app.get("/books/{id}", { params: { id: v.number() } }, async (_request, { id }) => {
    throw new Error(`no book ${id}`);
  });
  showBoard(app);
  await ask(app, "/books/one");
  const refused = await newest(app);
  assertEquals(refused.issues.map(({ in: source, path }) => [source, path]), [["path", ["id"]]]);
  assertEquals([refused.status, refused.parts.at(-2)!.failed], [422, true]);
  await ask(app, "/books/1");
  const failed = await newest(app);
  assertEquals([failed.status, failed.parts.at(-2)!.kind, failed.parts.at(-2)!.failed], [500, "handler", true]);
  assertStringIncludes(failed.error!, "Error: no book 1");
  assertStringIncludes(failed.error!, "requests_test.ts");
  assertEquals(failed.error!.includes("/src/routing/"), false);
  assertEquals(failed.entries.map(({ message }) => message), ["A request failed"]);
  await ask(app, "/nothing");
  const missing = await newest(app);
  assertEquals([missing.status, missing.route], [404, null]);
  await app.stop();
});

Deno.test("Secrets are redacted: in headers, cookies, declared API keys and the query", async () => {
  const app = new App({ log: () => {} });
  const key = apiKey(async (key) => key === "k-1" && "partner", { in: "header", name: "x-partner" });
  const inQuery = apiKey(async (key) => key === "q-1" && "partner", { in: "query", name: "board_key" });
  app.get("/", { deps: { key, inQuery } }, async (request) => {
    request.setCookie({ name: "sid", value: "new-secret" });
    return "done";
  });
  showBoard(app);
  await ask(app, "/?board_key=q-1&page=2", {
    headers: {
      ...{ "x-partner": "k-1", authorization: `Basic ${btoa("Ada:pw")}`, cookie: "sid=old-secret; theme=dark" },
      ...{ "x-csrf-token": "c-1", "x-webhook-signature": "s-1", accept: "text/html" },
      referer: "http://localhost/?board_key=q-1",
    },
  });
  const text = JSON.stringify(await newest(app));
  for (const secret of ["k-1", "q-1", "old-secret", "new-secret", btoa("Ada:pw"), "c-1", "s-1", "dark"]) {
    assertEquals(text.includes(secret), false, secret);
  }
  for (const shown of ["page=2", "sid=REDACTED", "theme=REDACTED", "Basic REDACTED", "text/html"]) {
    assertStringIncludes(text, shown);
  }
  await app.stop();
});

Deno.test("A request is sent again with its headers and its body, by this machine alone", async () => {
  const app = new App({ log: () => {} });
  const taken: string[] = [];
  app.post("/orders", { body: v.object({ item: v.string() }) }, async (request, { body }) => {
    taken.push(`${body.item} ${request.headers.get("authorization")}`);
  });
  showBoard(app);
  const headers = { "content-type": "application/json", authorization: "Bearer t-1", "content-length": "14" };
  await ask(app, "/orders", { method: "POST", headers, body: '{"item":"tea"}' });
  const { number, body } = await newest(app);
  assertEquals(body, '{"item":"tea"}');
  const again = await boardOf(app).post("/api/requests/{number}/send", { number });
  assertEquals([again.status, taken], [204, ["tea Bearer t-1", "tea Bearer t-1"]]);
  assertEquals((await newest(app)).number, again.number);
  await app.stop();
});

Deno.test("Of production nothing is kept that could send a request again", async () => {
  const admin = bearer(async (token) => token === "a-1" && { name: "Ada" });
  const app = new App({ board: { deps: { admin }, readOnly: false }, log: () => {} });
  app.post("/orders", { body: v.object({ item: v.string() }) }, async () => {});
  const headers = { authorization: "Bearer a-1", "content-type": "application/json", "content-length": "14" };
  await ask(app, "/orders", { method: "POST", headers, body: '{"item":"tea"}' });
  const details = await ask(app, "/board/api/requests/1", { headers });
  assertEquals(JSON.parse(details).body, null);
  const reply = await app.fetch(new Request("http://localhost/board/api/requests/1/send", { method: "POST", headers }));
  assertEquals([reply.status, (await reply.json()).detail.includes("not kept")], [409, true]);
  await app.stop();
});

Deno.test("At most 500 requests and 5 MiB are kept, the newest", async () => {
  const app = new App({ log: () => {} });
  app.get("/{size}", { params: { size: v.number() } }, async (_request, { size }) => {
    throw new Error("x".repeat(size));
  });
  showBoard(app);
  for (let index = 0; index < MAX_REQUESTS + 20; index++) await ask(app, "/1");
  const events = () => first(boardOf(app).events("/api/requests/events"));
  const all = await events();
  assertEquals([all.requests.length, all.oldest], [MAX_REQUESTS, 21]);
  assertEquals(all.requests[0]!.number, MAX_REQUESTS + 20);
  for (let index = 0; index < 400; index++) await ask(app, "/15000");
  const large = await events();
  assert(large.requests.length < 200, `${large.requests.length}`);
  assert(large.requests.length * 30_000 < MAX_BYTES + 60_000);
  assertEquals(large.requests[0]!.number, MAX_REQUESTS + 420);
  await app.stop();
});

Deno.test("Under load, 100 requests a second are recorded with their parts, and all are counted", async () => {
  const app = new App({ log: () => {} });
  app.get("/fine", async () => "fine");
  app.get("/broken", async () => {
    throw new Error("no disk");
  });
  showBoard(app);
  for (let index = 0; index < 3_000; index++) await ask(app, "/fine");
  await ask(app, "/broken");
  const board = boardOf(app);
  const { requests, points } = await first(board.events("/api/requests/events"));
  assertEquals(requests[0]!.url, "/broken");
  assert(requests[0]!.number < 2_000, `${requests[0]!.number} were recorded`);
  assertEquals(points.reduce((sum, { requests }) => sum + requests, 0), 3_001);
  assertStringIncludes((await newest(app)).error!, "no disk");
  const routes = await first(board.events("/api/routes/events"));
  assertEquals(routes.map(({ path, calls, errors }) => [path, calls, errors]), [["/fine", 3_000, 0], [
    "/broken",
    1,
    1,
  ]]);
  await app.stop();
});

Deno.test("The duration of a request that is only counted has its sync part, too", async () => {
  const app = new App();
  app.get("/fine", async () => "fine");
  app.get("/busy", async () => {
    const end = performance.now() + 0.4;
    while (performance.now() < end);
    return "busy";
  });
  showBoard(app);
  for (let index = 0; index < 200; index++) await ask(app, "/fine");
  for (let index = 0; index < 400; index++) await ask(app, "/busy");
  const routes = await first(boardOf(app).events("/api/routes/events"));
  const { p50 } = routes.find(({ path }) => path === "/busy")!;
  assert(p50! > 0.35, `${p50} ms`);
  await app.stop();
});

Deno.test("Two applications of one process do not see the requests of each other", async () => {
  const [one, other] = [new App(), new App()];
  one.get("/", async () => await (await other.fetch(new Request("http://localhost/inner"))).text());
  other.get("/inner", async () => "inner");
  showBoard(one);
  showBoard(other);
  await ask(one, "/");
  const urls = async (app: App) => {
    const { requests } = await first(boardOf(app).events("/api/requests/events"));
    return requests.map(({ url }) => url);
  };
  assertEquals([await urls(one), await urls(other)], [["/"], ["/inner"]]);
  await one.stop();
  await ask(other, "/inner");
  assertEquals((await newest(other)).parts.map(({ kind }) => kind), ["validation", "handler", "reply"]);
  await other.stop();
});

Deno.test("Quantiles are at most 9 % off, and points are those of ten minutes", () => {
  const histogram = new Histogram();
  assertEquals(histogram.quantile(0.5), undefined);
  for (let ms = 1; ms <= 1_000; ms++) histogram.add(ms);
  for (const part of [0.1, 0.5, 0.99]) {
    const found = histogram.quantile(part)!;
    assert(Math.abs(found / (1_000 * part) - 1) < 0.1, `${part}: ${found}`);
  }
  histogram.add(0);
  histogram.add(Infinity);
  const points = new RequestPoints();
  const now = 1_700_000_000_000;
  points.add(now - 900_000, 200, 1);
  points.add(now - 300_000, 500, 5);
  points.add(now, 429, 1);
  const all = points.since(0, now);
  assertEquals([all.length, all.filter(({ requests }) => requests > 0).length], [120, 2]);
  assertEquals(all.at(-1)!.limited, 1);
  assertEquals(all.find(({ errors }) => errors > 0)!.time, now - 300_000 - (now - 300_000) % POINT);
  assertEquals(points.since(now - POINT, now).length, 1);
});
