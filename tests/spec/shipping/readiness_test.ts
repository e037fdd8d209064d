// shipping.md, section 2: "readyUrl: "/ready", an option of App (default null)", and
// "run({ drainDelay: "5s" }) (default 0)".

import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { App, RouteError } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { CapturedLog } from "../support/captured_log.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { Http2Connection } from "../support/http2_connection.ts";
import { exchange, headerOf, RawConnection } from "../support/raw_connection.ts";
import { Serving } from "../support/serving.ts";
import { SmallStore } from "../support/small_store.ts";
import { ticks } from "../support/ticks.ts";
import { until } from "../../support/wait.ts";

const READY = "GET /ready HTTP/1.1\r\nHost: x\r\n\r\n";
const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

async function ask(app: App, path = "/ready", method = "GET"): Promise<{ status: number; body: string }> {
  const response = await app.fetch(new Request(`http://localhost${path}`, { method }));
  return { status: response.status, body: await response.text() };
}

Deno.test("200 when lifespans and stores are open, else 503 (through app.fetch, too)", async () => {
  const opened = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const closing = Promise.withResolvers<void>();
  const app = new App({ readyUrl: "/ready" });
  let seenWhileClosing: unknown;
  app.lifespan(async function* () {
    begun.resolve();
    await opened.promise;
    yield;
    seenWhileClosing = await ask(app);
    closing.resolve();
  });
  app.get("/", async () => "served");
  // The first question starts the application, as any request does.
  assertEquals(await ask(app), { status: 503, body: "starting" });
  await begun.promise;
  assertEquals(await ask(app), { status: 503, body: "starting" });
  opened.resolve();
  assertEquals((await ask(app, "/")).body, '"served"');
  assertEquals(await ask(app), { status: 200, body: "ready" });
  assertEquals(await ask(app, "/ready?x=1"), { status: 200, body: "ready" });
  assertEquals((await ask(app, "/ready", "HEAD")).status, 200);
  for (const path of ["/ready/", "/readyx", "/Ready", "/x/ready", "/?/ready"]) {
    const { body } = await ask(app, path);
    assert(body !== "ready", path);
  }
  assertEquals((await ask(app, "/ready", "POST")).status, 404);
  await app.stop();
  await closing.promise;
  assertEquals(seenWhileClosing, { status: 503, body: "stopping" });
});

Deno.test("200 when lifespans and stores are open, else 503: a store that opens is waited for", async () => {
  const opened = Promise.withResolvers<void>();
  class OpeningStore extends SmallStore {
    async open(): Promise<void> {
      await opened.promise;
    }
  }
  const app = new App({ readyUrl: "/ready", topics: new OpeningStore() });
  app.topic("orders", { durable: true });
  const started = app.start();
  // Many turns, so that a start that does not wait would be over.
  for (let count = 0; count < 10; count++) {
    assertEquals(await ask(app), { status: 503, body: "starting" });
    await ticks(1);
  }
  opened.resolve();
  await started;
  assertEquals(await ask(app), { status: 200, body: "ready" });
  await app.stop();
});

Deno.test("A start that fails is 503 and in the log, and the next question tries again", async () => {
  const app = new App({ readyUrl: "/ready" });
  let isBroken = true;
  let starts = 0;
  app.lifespan(async function* () {
    starts++;
    if (isBroken) throw new Error("No database");
    yield;
  });
  using log = new CapturedLog();
  assertEquals((await ask(app)).status, 503);
  await until("the failure is logged", () => log.lines.length > 0);
  assertStringIncludes(log.text, "No database");
  isBroken = false;
  await until("it is ready", async () => (await ask(app)).status === 200);
  assertEquals(starts, 2);
  await app.stop();
});

Deno.test("answered before hosts, limits and middleware, without an access line", async () => {
  const app = new App({
    readyUrl: "/ready",
    hosts: ["shop.example"],
    origins: ["https://shop.example"],
    rateLimit: { limit: 1, per: "1m" },
    deps: { user: bearer(async () => null) },
  });
  const seen: string[] = [];
  app.middleware(async (request, next) => {
    seen.push(request.path);
    return await next(request);
  });
  app.get("/", async () => 1);
  using log = new CapturedLog();
  await using serving = await Serving.start(app, { accessLog: true });
  for (let count = 0; count < 3; count++) {
    const reply = await exchange(serving.port, "GET /ready HTTP/1.1\r\nHost: other.example\r\n\r\n");
    assertEquals([reply.status, reply.body, headerOf(reply, "cache-control")], [200, "ready", "no-store"]);
    assertEquals(headerOf(reply, "connection"), undefined);
  }
  assertEquals([seen, log.text], [[], ""]);
  await exchange(serving.port, "GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n");
  assertEquals([seen.length, log.lines.length], [1, 1]);
});

Deno.test("It is off by default, and its path belongs to it alone", async () => {
  assertEquals((await ask(new App())).status, 404);
  const app = new App({ readyUrl: "/ready" });
  assertThrows(() => app.get("/ready", async () => 1), RouteError, "set readyUrl of the App to another or to null");
  assertThrows(() => new App({ readyUrl: "/docs" }), RouteError);
  assertThrows(() => new App({ readyUrl: "/{x}" }), TypeError);
  assertThrows(() => new App({ readyUrl: "ready" }), RouteError);
  assertEquals(Object.keys(app.openapi().paths), []);
});

/** Signals within 300 ms count as one. */
const SAME_MS = 400;

const PROGRAM = `
import { App } from "${CORE}";
const app = new App({ readyUrl: "/ready" });
const gate = Promise.withResolvers();
app.lifespan(async function* () {
  yield;
  console.log("lifespan ends");
});
app.get("/", async () => "served");
app.get("/wait", async () => {
  console.log("waiting");
  await gate.promise;
  return "waited";
});
app.get("/open", async () => gate.resolve());
await app.run({ port: 0, accessLog: true, drainDelay: DELAY, onListen: ({ port }) => console.log("port " + port) });
console.log("run resolved");
`;

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`after ${signal} it still accepts, readyUrl being 503 and replies carrying Connection: close`, async () => {
    await using child = await ChildProgram.start(PROGRAM.replace("DELAY", '"10m"'));
    const port = await child.port();
    assertEquals((await exchange(port, READY)).status, 200);
    using waiting = await RawConnection.open(port);
    await waiting.write("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    await child.printed("waiting");
    using kept = await RawConnection.open(port);
    await kept.write(GET);
    assertEquals(headerOf(await kept.reply(), "connection"), undefined);

    // Signals that come at the same time count as one.
    child.signal(signal);
    child.signal(signal);
    for (;;) {
      const reply = await exchange(port, READY);
      if (reply.status === 200) continue;
      assertEquals([reply.status, reply.body, headerOf(reply, "connection")], [503, "stopping", "close"]);
      break;
    }
    const seen = performance.now();
    await kept.write(GET);
    for (const reply of [await kept.reply(), await exchange(port, GET)]) {
      assertEquals([reply.status, reply.body, headerOf(reply, "connection")], [200, '"served"', "close"]);
    }
    assertEquals(headerOf(await exchange(port, "GET /none HTTP/1.1\r\nHost: x\r\n\r\n"), "connection"), "close");
    assertEquals(headerOf(await exchange(port, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n"), "connection"), "close");
    // It was in flight before.
    const late = await waiting.reply();
    assertEquals([late.body, headerOf(late, "connection")], ['"waited"', "close"]);
    {
      using two = await Http2Connection.open(port);
      assertEquals(await two.status({ ":method": "GET", ":path": "/", ":scheme": "http", ":authority": "x" }), 200);
    }

    // "a second signal skips the rest".
    while (performance.now() - seen < SAME_MS) assertEquals((await exchange(port, READY)).status, 503);
    child.signal(signal);
    const { code, stdout, stderr } = await child.end();
    assertEquals(code, 0);
    assert(stdout.endsWith("lifespan ends\nrun resolved\n"), stdout);
    assert(!stderr.includes("/ready"), stderr);
  });
}

Deno.test("then it stops accepting and the grace period begins", async () => {
  await using child = await ChildProgram.start(PROGRAM.replace("DELAY", "50"));
  await child.port();
  child.signal("SIGTERM");
  const { code, stdout } = await child.end();
  assertEquals(code, 0);
  assert(stdout.endsWith("lifespan ends\nrun resolved\n"), stdout);
});

Deno.test("A signal that came before it listens is not waited for, and a delay is 0 or a duration", async () => {
  await new App().run({ port: 0, signal: AbortSignal.abort(), drainDelay: "10m", onListen: () => {} });
  const run = (drainDelay: unknown) => () =>
    new App().run({ port: 0, signal: AbortSignal.abort(), drainDelay: drainDelay as number, onListen: () => {} });
  for (const none of [0, "0s"]) await run(none)();
  for (const wrong of [-1, "5", "soon", NaN]) await assertRejects(run(wrong), RangeError, "the drainDelay");
});

Deno.test("A start that does not end has the grace period after a signal, then the process exits with code 1", async () => {
  await using child = await ChildProgram.start(`
import { App } from "${CORE}";
const app = new App();
app.lifespan(async function* () {
  console.log("starting");
  await new Promise((resolve) => setTimeout(resolve, 600_000));
  yield;
});
await app.run({ port: 0, gracePeriod: 50 });
`);
  await child.printed("starting");
  child.signal("SIGTERM");
  const { code, stderr } = await child.end();
  assertEquals(code, 1);
  assert(stderr.includes("ERROR The start did not end in the grace period gracePeriod=50"), stderr);
});

Deno.test("During the grace period replies carry Connection: close, while a body is awaited, too", async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const reads = Promise.withResolvers<void>();
  const app = new App();
  app.get("/", async () => {
    begun.resolve();
    await gate.promise;
    return "late";
  });
  app.get("/redirect", async () => {
    await gate.promise;
    return Response.redirect("http://other.example/");
  });
  app.post("/", async (request) => {
    reads.resolve();
    return (await request.bytes()).length;
  });
  const serving = await Serving.start(app);
  using slow = await RawConnection.open(serving.port);
  await slow.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na");
  await reads.promise;
  using redirected = await RawConnection.open(serving.port);
  await redirected.write("GET /redirect HTTP/1.1\r\nHost: x\r\n\r\n");
  using waiting = await RawConnection.open(serving.port);
  await waiting.write(GET);
  await begun.promise;
  serving.tellToStop();
  // The stop begins with the next turn.
  await ticks(1);
  gate.resolve();
  for (const connection of [waiting, redirected]) {
    assertEquals(headerOf(await connection.reply(), "connection"), "close");
  }
  await slow.write("b");
  const last = await slow.reply();
  assertEquals([last.body, headerOf(last, "connection")], ["2", "close"]);
  await serving.stopped;
});

Deno.test("An application that has stopped serves again without closing connections", async () => {
  const app = new App({ readyUrl: "/ready" });
  app.get("/", async () => 1);
  for (let turn = 0; turn < 2; turn++) {
    await using serving = await Serving.start(app);
    assertEquals((await exchange(serving.port, READY)).status, 200);
    assertEquals(headerOf(await exchange(serving.port, GET), "connection"), undefined);
  }
});
