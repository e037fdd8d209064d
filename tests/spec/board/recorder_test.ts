// "what it keeps is bounded: 500 requests, 5 MiB […] A request: waterfall of its parts: […] each
// middleware, guard, dependency, validation, handler, model, reply, tasks after it" (board.md,
// sections 1 and 2). What the board records must not change a reply.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import * as v from "valibot";
import { anySecurity, App, dependency, HTTPError, ValidationError } from "../../../mod.ts";
import { apiKey, bearer, optional } from "../../../src/auth/mod.ts";
import { MAX_BYTES, Recorder } from "../../../src/board/recorder.ts";
import type { RequestContext } from "../../../src/http/context.ts";
import { boardOf, connectionFrom, first, showBoard } from "./board.ts";

const ask = async (app: App, path: string, init?: RequestInit) => {
  const response = await app.fetch(new Request(`http://localhost${path}`, init), connectionFrom("127.0.0.1"));
  return { status: response.status, text: await response.text() };
};

const listOf = async (app: App) => (await first(boardOf(app).events("/api/requests/events"))).requests;

/** The details of the newest request. */
async function newest(app: App) {
  const [request] = await listOf(app);
  return await boardOf(app).get("/api/requests/{number}", { number: request!.number });
}

Deno.test("Whatever a handler throws, the board shows it, and later requests are answered", async () => {
  const traps: unknown = new Proxy({}, {
    get() {
      throw new Error("a trap");
    },
    getPrototypeOf() {
      throw new Error("a trap");
    },
  });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const broken = new HTTPError(404, "x");
  Object.defineProperty(broken, "detail", {
    get() {
      throw new Error("no detail");
    },
  });
  const values = [traps, revoked.proxy, broken, undefined, null, Symbol("s"), 1n, {
    get message() {
      throw new Error("no message");
    },
  }];
  const app = new App({ log: () => {} });
  app.get("/thrown/{index}", { params: { index: v.number() } }, async (_request, { index }) => {
    throw values[index];
  });
  app.get("/fine", async () => "fine");
  showBoard(app);
  for (const index of values.keys()) {
    const { status } = await ask(app, `/thrown/${index}`);
    assert(status >= 400, `${index}: ${status}`);
    assertEquals(await ask(app, "/fine"), { status: 200, text: '"fine"' });
    assertEquals((await listOf(app)).length, 2 * index + 2);
  }
  await app.stop();
});

Deno.test("The ends of dependencies are parts, before and after the reply", async () => {
  const app = new App();
  const ended = Promise.withResolvers<void>();
  const transaction = dependency({ until: "handler" }, async function* () {
    yield 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
  const connection = dependency(async function* () {
    yield 1;
    ended.resolve();
  });
  app.get("/", { deps: { transaction, connection } }, async () => "done");
  showBoard(app);
  await ask(app, "/");
  await ended.promise;
  const { parts } = await newest(app);
  assertEquals(parts.map(({ kind, name }) => `${kind} ${name}`.trim()), [
    "validation",
    "dependency transaction",
    "dependency connection",
    "handler GET /",
    "reply",
    "dependency transaction, its end",
    "dependency connection, its end",
  ]);
  const [commit, close] = parts.slice(-2);
  assert(commit!.end! - commit!.begin >= 19 && commit!.end! <= close!.begin);
  await app.stop();
});

Deno.test("What makes the reply of an error is a part", async () => {
  const app = new App({ log: () => {} });
  app.onError(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
  app.get("/", async () => {
    throw new Error("no disk");
  });
  showBoard(app);
  await ask(app, "/");
  const { parts } = await newest(app);
  assertEquals(parts.map(({ kind, name }) => `${kind} ${name}`.trim()), [
    "validation",
    "handler GET /",
    "reply of an error",
  ]);
  assert(parts[2]!.end! - parts[2]!.begin >= 19);
  await app.stop();
});

Deno.test("An idempotent route has its handler, its model and its reply among its parts", async () => {
  const app = new App();
  app.post("/pay", { idempotent: "1h", response: v.object({ paid: v.boolean() }) }, async () => ({ paid: true }));
  showBoard(app);
  await ask(app, "/pay", { method: "POST", headers: { "idempotency-key": "k-1" } });
  const { parts, headers } = await newest(app);
  assertEquals(parts.map(({ kind }) => kind).slice(-3), ["handler", "model", "reply"]);
  assertEquals(headers, [["idempotency-key", "k-1"]]);
  await app.stop();
});

Deno.test("The guard that accepted a request is shown, not the one that tried it, and none for an anonymous one", async () => {
  const app = new App();
  const user = bearer(async (token) => token === "t-1" && { name: "Ada" });
  const partner = apiKey(async (key) => key === "k-1" && { name: "Lovelace" }, { in: "header", name: "x-partner" });
  app.get("/any", { deps: { caller: anySecurity(user, partner) } }, async () => "any");
  app.get("/maybe", { deps: { caller: optional(user) } }, async () => "maybe");
  showBoard(app);
  const whoOf = async (path: string, headers: HeadersInit) => {
    await ask(app, path, { headers });
    return (await newest(app)).who;
  };
  assertEquals(await whoOf("/any", { "x-partner": "k-1" }), "apiKey");
  assertEquals(await whoOf("/any", { authorization: "Bearer t-1" }), "bearer");
  assertEquals(await whoOf("/maybe", { authorization: "Bearer t-1" }), "bearer");
  assertEquals(await whoOf("/maybe", {}), "");
  assertEquals(await whoOf("/any", {}), "");
  await app.stop();
});

Deno.test("Credentials in usual headers and in the query are not shown, nor keys of mounted applications", async () => {
  const app = new App({ log: () => {} });
  const inner = new App({ log: () => {} });
  const key = apiKey(async (key) => key === "secret-0" && "partner", { in: "header", name: "x-partner" });
  inner.get("/orders", { deps: { key } }, async () => "orders");
  app.mount("/shop", inner);
  showBoard(app);
  const names = [
    ...["x-goog-iap-jwt-assertion", "cf-access-jwt-assertion", "x-ms-client-principal", "x-auth", "x-auth-key", "dpop"],
    ...["ocp-apim-subscription-key", "x-functions-key", "x-access-key", "api_key", "x-otp", "sec-websocket-protocol"],
  ];
  const sent = Object.fromEntries(names.map((name, index) => [name, `secret-${index + 1}`]));
  const query = "?access_token=secret-a&PASSWORD=secret-b&page=2&sig=secret-c";
  const referer = `http://localhost/login?reset_token=secret-d&page=3`;
  assertEquals(
    (await ask(app, `/shop/orders${query}`, { headers: { ...sent, referer, "x-partner": "secret-0" } })).text,
    '"orders"',
  );
  const text = JSON.stringify(await newest(app));
  assertEquals([...text.matchAll(/secret-\w+/g)].map(([found]) => found), []);
  for (const shown of ["access_token=REDACTED", "page=2", "reset_token=REDACTED&page=3"]) {
    assertStringIncludes(text, shown);
  }
  await app.stop();
});

Deno.test("A request is sent again from its address, with its number, also under load", async () => {
  const app = new App({ hosts: ["shop.example"], log: () => {} });
  app.get("/", async (request) => request.remoteAddress ?? "nowhere");
  app.get("/slow", async () => await new Promise<string>((resolve) => setTimeout(() => resolve("slow"), 5)));
  showBoard(app);
  await ask(app, "/slow");
  const { number } = await newest(app);
  for (let index = 0; index < 300; index++) await ask(app, "/");
  const again = boardOf(app).post("/api/requests/{number}/send", { number });
  for (let index = 0; index < 10; index++) await ask(app, "/");
  const { status, number: sent } = await again;
  const details = await boardOf(app).get("/api/requests/{number}", { number: sent! });
  assertEquals([status, details.url, details.status], [200, "/slow", 200]);
  await app.stop();
});

Deno.test("Bodies are shown to clients on this machine alone", async () => {
  const admin = bearer(async (token) => token === "a-1" && { name: "Ada" });
  const app = new App({ board: { deps: { admin }, readOnly: false }, log: () => {} });
  app.post("/orders", { body: v.object({ item: v.string() }) }, async () => {});
  showBoard(app);
  const headers = { authorization: "Bearer a-1", "content-type": "application/json", "content-length": "14" };
  await ask(app, "/orders", { method: "POST", headers, body: '{"item":"tea"}' });
  const { number, body } = await newest(app);
  assertEquals(body, '{"item":"tea"}');
  assertEquals(JSON.parse((await ask(app, `/board/api/requests/${number}`, { headers })).text).body, null);
  assertEquals((await ask(app, `/board/api/requests/${number}/send`, { method: "POST", headers })).status, 409);
  await app.stop();
});

Deno.test("AsyncLocalStorage of the application is that of a request, also in its tasks", async () => {
  const app = new App({ log: () => {} });
  const storage = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const done = Promise.withResolvers<void>();
  app.middleware(async (request, next) => await storage.run(request.url.pathname, () => next(request)));
  app.get("/{name}", { params: { name: v.string() } }, async (request) => {
    seen.push(storage.getStore());
    request.after(() => {
      seen.push(storage.getStore());
      done.resolve();
    });
  });
  showBoard(app);
  await ask(app, "/one");
  await done.promise;
  assertEquals([seen, storage.getStore()], [["/one", "/one"], undefined]);
  await app.stop();
});

Deno.test("The bound of memory holds at once, for headers, issues, entries, and requests that still run", async () => {
  const recorder = new Recorder({ keepsSecrets: true });
  const large = "x".repeat(100_000);
  let most = 0;
  const running: Promise<unknown>[] = [];
  for (let index = 0; index < 60; index++) {
    const raw = new Request(`http://localhost/${index}`, { headers: { "x-large": large } });
    const context = {
      raw,
      peer: null,
      knownBody: undefined,
      addTask() {},
      addOpened() {},
    } as unknown as RequestContext;
    const isFinished = index % 2 === 0;
    const reply = isFinished ? Promise.resolve(new Response("x")) : new Promise<Response>(() => {});
    const boundary = recorder.errors((_thrown) => new Response(null, { status: 422 }));
    running.push(recorder.record(context, {} as never, null, () => {
      const issues = Array.from({ length: 1_000 }, () => ({ in: "body" as const, path: [large], message: large }));
      boundary(new ValidationError(issues), {} as never);
      return reply;
    }));
    most = Math.max(most, recorder.bytes);
  }
  await Promise.all(running.filter((_, index) => index % 2 === 0));
  assert(Math.max(most, recorder.bytes) <= MAX_BYTES, `${most} ${recorder.bytes}`);
  recorder.close();
});
