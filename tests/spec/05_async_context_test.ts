// Section 5 of the contract: "`AsyncLocalStorage` works: what one request runs in holds in its
// handler, streams, tasks and cleanups, and reaches no other request".

import { assert, assertEquals } from "@std/assert";
import { App, dependency, Events, SSE } from "@webfw/core";
import { session, type SessionStore } from "@webfw/core/auth";
import { timeout } from "@webfw/core/middleware";
import { AsyncLocalStorage } from "node:async_hooks";
import * as v from "valibot";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { SocketClient } from "./support/socket_client.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";
import { ticks } from "./support/ticks.ts";

const who = new AsyncLocalStorage<string>();
/** How often a session is read while streams depend on it, in milliseconds. */
const SESSION_POLL = 3_000;

/** A source of values that ends only when it is closed. */
async function* endless(): AsyncGenerator<number> {
  yield 1;
  await new Promise<never>(() => {});
}

/** An application whose requests run with the value of their query parameter `who`. */
function storing(): App {
  const app = new App({ log: () => {} });
  app.middleware(async (request, next) => await who.run(request.query.get("who") ?? "none", () => next(request)));
  return app;
}

/** Sends a request from outside of this process's contexts, as a client does. */
async function exchange(serving: Serving, head: string, body = ""): Promise<string> {
  using connection = await RawConnection.open(serving.port);
  const length = body === "" ? "" : `Content-Length: ${body.length}\r\n`;
  await connection.write(`${head} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${length}\r\n${body}`);
  return (await connection.reply()).body;
}

Deno.test("The store of a request holds in its stream, of each kind, in their ends and in what they map", async () => {
  const ends: unknown[] = [];
  const source = async function* () {
    try {
      for (let part = 0; part < 3; part++) yield who.getStore() ?? null;
    } finally {
      ends.push(who.getStore());
    }
  };
  const app = storing();
  const topic = app.topic<number>("numbers");
  app.get("/handler", source);
  app.get("/lines", async () => source());
  app.get("/events", async () => SSE(source()));
  app.get("/declared", { response: Events(v.nullable(v.string())) }, async () => source());
  app.get("/bytes", async () => {
    let left = 3;
    return new ReadableStream({
      pull(controller) {
        if (left-- === 0) controller.close();
        else controller.enqueue(new TextEncoder().encode(`${who.getStore()} `));
      },
    });
  });
  app.get("/mapped", async (request) => {
    const subscription = request.app.topic<number>("numbers").subscribe({ from: "earliest" });
    const ids: number[] = [];
    return SSE(subscription, {
      filter: () => who.getStore() !== undefined,
      map: ({ data }) => {
        if (ids.push(data as number) === 3) subscription.close();
        return who.getStore();
      },
    });
  });
  for (const number of [1, 2, 3]) await topic.publish(number);
  await using serving = await Serving.start(app);
  for (const path of ["/handler", "/lines", "/events", "/declared", "/bytes", "/mapped"]) {
    for (const name of ["alice", "bob"]) {
      const body = await exchange(serving, `GET ${path}?who=${name}`);
      const other = name === "alice" ? "bob" : "alice";
      assert(body.includes(name) && !body.includes(other) && !body.includes("null") && !/undefined/.test(body), body);
      assertEquals(body.split(name).length - 1, 3, `${path}: ${body}`);
    }
  }
  assertEquals(ends, ["alice", "bob", "alice", "bob", "alice", "bob", "alice", "bob"]);
});

Deno.test("A stream whose client leaves ends with the store of its request", async () => {
  const ended = Promise.withResolvers<unknown>();
  const app = storing();
  app.get("/", async function* () {
    try {
      for (;;) {
        yield "part";
        await ticks(1);
      }
    } finally {
      ended.resolve(who.getStore());
    }
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET /?who=alice HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("part");
  connection.close();
  assertEquals(await ended.promise, "alice");
});

Deno.test("The store of a request holds in its tasks and cleanups, also after a failure", async () => {
  const seen: string[] = [];
  const see = (place: string) => seen.push(`${place} ${who.getStore()}`);
  const inner = new AsyncLocalStorage<string>();
  const done = Promise.withResolvers<void>();
  const opened = (name: string, options: { until?: "handler" } = {}) =>
    dependency(options, async function* () {
      try {
        yield name;
      } catch {
        see(`${name} failed`);
      } finally {
        see(name);
      }
    });
  const deps = { plain: opened("plain"), until: opened("until", { until: "handler" }) };
  const app = storing();
  app.get("/fine", { deps }, async (request) => {
    request.after(() => see("task"));
    inner.run("inner", () => request.after(() => seen.push(`task ${inner.getStore()}`)));
  });
  app.get("/fails", { deps }, async (request) => {
    request.after(() => see("task"), { always: true });
    request.after(() => done.resolve(), { always: true });
    throw new Error("x");
  });
  await using serving = await Serving.start(app);
  await exchange(serving, "GET /fine?who=alice");
  await exchange(serving, "GET /fails?who=bob");
  await done.promise;
  await serving.stop();
  assertEquals(seen, [
    "until alice",
    "task alice",
    "task inner",
    "plain alice",
    "until failed bob",
    "until bob",
    "plain failed bob",
    "plain bob",
    "task bob",
  ]);
});

Deno.test("The store of a handshake holds in the handler of its WebSocket", async () => {
  const app = storing();
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(`${message} ${who.getStore()}`);
  });
  await using serving = await Serving.start(app);
  for (const name of ["alice", "bob"]) {
    const client = await SocketClient.open(serving.origin, `/?who=${name}`);
    client.send("first");
    assertEquals(await client.next(), `first ${name}`);
    client.send("second");
    assertEquals(await client.next(), `second ${name}`);
    await client.close();
  }
});

Deno.test("What starts with a first request has no store: lifespans, crons and consumers", async () => {
  const seen: unknown[] = [];
  const handled = Promise.withResolvers<void>();
  const app = storing();
  const topic = app.topic<number>("numbers");
  topic.consume("counter", async () => {
    seen.push(who.getStore());
    handled.resolve();
  });
  app.lifespan(async function* () {
    seen.push(who.getStore());
    yield;
    seen.push(who.getStore());
  });
  app.get("/", async () => {
    await topic.publish(1);
    return who.getStore();
  });
  const response = await who.run("outside", () => app.fetch(new Request("http://localhost/?who=alice")));
  assertEquals(await response.json(), "alice");
  await handled.promise;
  await app.stop();
  assertEquals(seen, [undefined, undefined, undefined]);
});

Deno.test("The signals that timeout() aborts know nothing of the request that was the first to wait", async () => {
  const seen: unknown[] = [];
  const app = new App({ log: () => {} });
  app.middleware(async (request, next) => await who.run(request.query.get("who")!, () => next(request)));
  app.middleware(timeout("20ms"));
  app.get("/", async (request) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    request.signal.addEventListener("abort", () => {
      seen.push(who.getStore());
      resolve();
    });
    await promise;
  });
  await using serving = await Serving.start(app);
  await Promise.all(["alice", "bob"].map((name) => exchange(serving, `GET /?who=${name}`)));
  assertEquals(seen, [undefined, undefined]);
});

Deno.test("The reads of a session for the streams behind it know nothing of any request", async () => {
  const entries = new Map<string, string>();
  const seen: [what: string, store: unknown][] = [];
  let isDropped = false;
  const store: SessionStore = {
    get: async (key) => {
      // The guards have read it before.
      if (isDropped) seen.push(["read", who.getStore()]);
      return entries.get(key) ?? null;
    },
    set: async (key, value) => {
      entries.set(key, value);
      return true;
    },
    delete: async (key) => isDropped = entries.delete(key),
  };
  const visit = session(v.object({ id: v.number() }), { store, cookie: { secure: false } });
  const app = storing();
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ id: 1 }));
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
  app.get("/events", { deps: { visit } }, async () => SSE(endless()));
  const send = (method: string, path: string, headers: HeadersInit = {}) =>
    app.fetch(new Request(`http://localhost${path}`, { method, headers }));
  const original = globalThis.setTimeout;
  // A timer runs in the context in which it is started.
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    if (ms === SESSION_POLL) seen.push(["timer", who.getStore()]);
    return original(run, ms);
  }) as typeof setTimeout;
  try {
    const cookie = (await send("POST", "/login")).headers.getSetCookie()[0]!.split(";", 1)[0]!;
    const events = await send("GET", "/events?who=alice", { cookie });
    const text = events.text();
    await send("POST", "/logout?who=bob", { cookie });
    await text;
  } finally {
    globalThis.setTimeout = original;
  }
  assertEquals(seen, [["timer", undefined], ["read", undefined]]);
  await app.stop();
});

const AUTH = new URL("../../src/auth/mod.ts", import.meta.url).href;
const MIDDLEWARE = new URL("../../src/middleware/mod.ts", import.meta.url).href;

/** Requests that make the framework load a part of itself. */
const FIRST = `
import { App, Events, file, Form, JsonLines, Router, SSE, UploadFile } from "${CORE}";
import { jwt, session } from "${AUTH}";
import { etag } from "${MIDDLEWARE}";
import { AsyncLocalStorage } from "node:async_hooks";
import * as v from "npm:valibot@^1.5.0";
const who = new AsyncLocalStorage();
const app = new App({ topics: TOPICS, mcp: { origins: ["*"] } });
app.middleware(async (request, next) => request.query.has("who")
  ? await who.run(request.query.get("who"), () => next(request)) : await next(request));
const member = jwt({ keys: new Uint8Array(32), algorithms: ["HS256"], issuer: "https://id.example", audience: null });
const visit = session(v.object({ id: v.number() }), { secret: "x".repeat(32), cookie: { secure: false } });
const tagged = new Router({ prefix: "/tagged" });
tagged.middleware(etag());
tagged.get("", async () => "tagged");
app.include(tagged);
app.files("/folder", FOLDER);
app.get("/events", async () => SSE((async function* () { yield 1; })()));
app.get("/declared", { response: Events(v.number()) }, async function* () { yield 1; });
app.get("/lines", async function* () { yield 1; });
app.get("/jsonl", { response: JsonLines(v.number()) }, async function* () { yield 1; });
app.get("/stream", async () => new Blob(["x"]).stream());
app.get("/blob", async () => new Blob(["x"]));
app.get("/file", async () => await file(FOLDER + "/a.txt"));
app.get("/member", { deps: { member } }, async () => 1);
app.get("/visit", { deps: { visit } }, async (_request, { visit }) => { await visit.set({ id: 1 }); });
app.get("/limited", { rateLimit: { limit: 100, per: "1m", by: () => "one" } }, async () => 1);
app.get("/topic", async (request) => { await request.app.topic("a").publish(1); return 1; });
app.get("/durable", async (request) => { await request.app.topic("d", { durable: true }).publish(1); return 1; });
app.get("/records", async (request) => { await request.app.records.set(["a"], 1); return 1; });
app.get("/tool", { tool: true }, async function tool() { return 1; });
app.post("/form", { form: Form(v.object({ f: UploadFile })) }, async () => 1);
app.post("/once", { idempotent: "1h" }, async () => 1);
app.websocket("/socket", async (socket) => await socket.send("x"));
app.get("/public", async () => ({ sees: who.getStore() ?? null }));
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

const MULTIPART = '--B\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nx\r\n--B--\r\n';
const CALL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "tool" } });
const TOKEN = `${btoa('{"alg":"HS256"}')}.${btoa('{"iss":"https://id.example","exp":9999999999}')}.x`.replaceAll(
  "=",
  "",
);

/** A path, with the headers and the body of its request. */
const LOADING: readonly (readonly [line: string, headers?: string, body?: string])[] = [
  ["GET /events"],
  ["GET /declared"],
  ["GET /lines"],
  ["GET /jsonl"],
  ["GET /stream"],
  ["GET /blob"],
  ["GET /file"],
  ["GET /folder/a.txt"],
  ["GET /tagged"],
  ["GET /member", `Authorization: Bearer ${TOKEN}\r\n`],
  ["GET /visit"],
  ["GET /limited"],
  ["GET /topic"],
  ["GET /durable"],
  ["GET /records"],
  ["POST /form", "Content-Type: multipart/form-data; boundary=B\r\n", MULTIPART],
  ["POST /once", "Idempotency-Key: k\r\n"],
  ["GET /docs"],
  ["GET /openapi.json"],
  ["POST /mcp", "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", CALL],
  ["GET /socket", "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"],
];

Deno.test("The store of a request reaches no later one, whatever part of the framework it loads", async () => {
  await using folder = await TemporaryFolder.make();
  await Deno.writeTextFile(folder.within("a.txt"), "x");
  const program = FIRST.replaceAll("FOLDER", JSON.stringify(folder.path))
    .replaceAll("TOPICS", JSON.stringify(folder.within("topics.sqlite")));
  await using child = await ChildProgram.start(program);
  const port = await child.port();
  for (const [line, headers = "", body = ""] of LOADING) {
    const isUpgrade = headers.startsWith("Upgrade");
    using connection = await RawConnection.open(port);
    const length = line.startsWith("POST") ? `Content-Length: ${body.length}\r\n` : "";
    const close = `Connection: ${isUpgrade ? "Upgrade" : "close"}\r\n`;
    await connection.write(
      `${line}?who=secret HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${close}${headers}${length}\r\n${body}`,
    );
    const head = await connection.until("\r\n\r\n");
    if (!isUpgrade) await connection.drain();
    const expected = line === "GET /member" ? "401" : isUpgrade ? "101" : "20";
    assert(head.includes(` ${expected}`), `${line}: ${head}`);
    const response = await fetch(`http://127.0.0.1:${port}/public`);
    assertEquals(await response.json(), { sees: null }, `after ${line}`);
  }
});
