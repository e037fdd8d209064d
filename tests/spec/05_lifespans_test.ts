// Section 5 of the contract: lifespans.

import { assertEquals, assertRejects, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, RouteError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "./support/captured_log.ts";
import { SmallStore } from "./support/small_store.ts";
import { ticks } from "./support/ticks.ts";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

/** An app with lifespans that note when they start and end. */
function noting(names: readonly string[]): { app: App; notes: string[] } {
  const app = new App();
  const notes: string[] = [];
  for (const name of names) {
    app.lifespan(async function* () {
      await Promise.resolve();
      notes.push(`${name} starts`);
      yield { [name]: name };
      await Promise.resolve();
      notes.push(`${name} ends`);
    });
  }
  app.get("/", async ({ state }) => state);
  return { app, notes };
}

function ask(app: App): Promise<Response> {
  return app.fetch(new Request("http://localhost/"));
}

Deno.test("Lifespans start in order before the first request and unwind in reverse", async () => {
  const { app, notes } = noting(["a", "b", "c"]);
  assertEquals(notes, []);
  {
    await using client = new TestClient(app);
    assertEquals(await client.get("/").json<unknown>(), { a: "a", b: "b", c: "c" });
    assertEquals(notes, ["a starts", "b starts", "c starts"]);
    await client.get("/");
  }
  assertEquals(notes.slice(3), ["c ends", "b ends", "a ends"]);
});

Deno.test("They start on first use of app.fetch without run, once for requests that come together", async () => {
  const { app, notes } = noting(["a"]);
  const responses = await Promise.all([ask(app), ask(app), ask(app)]);
  for (const response of responses) assertEquals(await response.json(), { a: "a" });
  assertEquals(notes, ["a starts"]);
  await app.stop();
  assertEquals(notes, ["a starts", "a ends"]);
});

Deno.test("A lifespan gets its app, and may yield nothing", async () => {
  const app = new App();
  let given: unknown;
  app.lifespan(async function* (app) {
    given = app;
    yield;
  });
  app.get("/", async ({ state }) => state);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json<unknown>(), {});
  assertStrictEquals(given, app);
});

Deno.test("When a later lifespan fails to start, those before it unwind in reverse, and the app serves no request", async () => {
  const { app, notes } = noting(["a", "b"]);
  app.lifespan(async function* () {
    throw new Error("no database");
    // deno-lint-ignore no-unreachable
    yield;
  });
  using log = new CapturedLog();
  const response = await ask(app);
  assertEquals(response.status, 500);
  const problem = await response.text();
  assertEquals(problem.includes("database"), false);
  assertEquals(notes, ["a starts", "b starts", "b ends", "a ends"]);
  assertStringIncludes(log.text, "no database");
});

Deno.test("After a failed start the next request tries again", async () => {
  const app = new App();
  let attempts = 0;
  app.lifespan(async function* () {
    if (++attempts === 1) throw new Error("not yet");
    yield { attempts };
  });
  app.get("/", async ({ state }) => state);
  using _log = new CapturedLog();
  const failed = await ask(app);
  assertEquals(failed.status, 500);
  await failed.body?.cancel();
  assertEquals(await (await ask(app)).json(), { attempts: 2 });
  await app.stop();
});

Deno.test("run() rejects with the error of a lifespan that fails to start, after unwinding the others", async () => {
  const { app, notes } = noting(["a"]);
  app.lifespan(async function* () {
    throw new RangeError("no database");
    // deno-lint-ignore no-unreachable
    yield;
  });
  await assertRejects(() => app.run({ port: 0, onListen: () => notes.push("listens") }), RangeError, "no database");
  assertEquals(notes, ["a starts", "a ends"]);
});

Deno.test("A lifespan that fails to end is logged, and the others still unwind", async () => {
  const app = new App();
  const notes: string[] = [];
  for (const name of ["a", "b", "c"]) {
    app.lifespan(async function* () {
      yield;
      notes.push(name);
      if (name === "b") throw new Error("b is stuck");
    });
  }
  app.get("/", async () => 1);
  using log = new CapturedLog();
  {
    await using client = new TestClient(app);
    await client.get("/");
  }
  assertEquals(notes, ["c", "b", "a"]);
  assertStringIncludes(log.text, "b is stuck");
  assertEquals(log.lines.length, 1);
});

Deno.test("A lifespan that ends without a yield, or yields twice, is an error", async () => {
  const none = new App();
  none.lifespan(
    async function* () {
    } as Untyped,
  );
  await assertRejects(() => none.start(), TypeError);

  const twice = new App();
  let ended = false;
  twice.lifespan(async function* () {
    try {
      yield;
      yield;
    } finally {
      ended = true;
    }
  });
  using log = new CapturedLog();
  await twice.start();
  await twice.stop();
  assertEquals([log.lines.length, ended], [1, true]);
});

Deno.test("Two lifespans cannot yield the same name", async () => {
  const app = new App<{ db: number }>();
  const notes: string[] = [];
  for (const db of [1, 2]) {
    app.lifespan(async function* () {
      yield { db };
      notes.push(`end ${db}`);
    });
  }
  await assertRejects(() => app.start(), TypeError, "db");
  assertEquals(notes.at(-1), "end 1");
});

Deno.test("A lifespan must be an async generator function", () => {
  const app = new App();
  for (const wrong of [() => {}, async () => {}, function* () {}, null, {}]) {
    assertThrows(() => app.lifespan(wrong as Untyped), TypeError);
  }
});

Deno.test("A lifespan cannot be added once the app has started", async () => {
  const app = new App();
  await app.start();
  const late = () =>
    app.lifespan(async function* () {
      yield;
    });
  assertEquals(assertThrows(late, RouteError).code, "frozen");
  await app.stop();
});

Deno.test("A stopped app starts again with its next request", async () => {
  const { app, notes } = noting(["a"]);
  for (let turn = 0; turn < 2; turn++) {
    await using client = new TestClient(app);
    assertEquals(await client.get("/").json(), { a: "a" });
  }
  assertEquals(notes, ["a starts", "a ends", "a starts", "a ends"]);
});

Deno.test("Stopping twice, or without a start, unwinds nothing twice", async () => {
  const { app, notes } = noting(["a"]);
  await app.stop();
  await app.start();
  await Promise.all([app.stop(), app.stop()]);
  await app.stop();
  assertEquals(notes, ["a starts", "a ends"]);
});

Deno.test("Lifespans unwind after the tasks and cleanups of requests, which may use what they close", async () => {
  const order: string[] = [];
  const app = new App();
  app.lifespan(async function* () {
    yield;
    order.push("lifespan");
  });
  const dep = dependency(async function* () {
    yield 1;
    await ticks(20);
    order.push("cleanup");
  });
  app.get("/", { deps: { dep } }, async (request) => {
    request.after(async () => {
      await ticks(20);
      order.push("after");
    });
    return 1;
  });
  const client = new TestClient(app);
  await client.get("/");
  await client.close();
  assertEquals(order, ["after", "cleanup", "lifespan"]);
});

Deno.test("After a stop whose store cannot be closed, the application starts again", async () => {
  const store = new SmallStore();
  store.close = () => Promise.reject(new Error("the store is away"));
  const app = new App({ topics: store });
  app.topic("orders", { durable: true });
  let open = 0;
  app.lifespan(async function* () {
    open++;
    yield;
    open--;
  });
  app.get("/", async () => "Hello");
  await app.start();
  await assertRejects(() => app.stop(), Error, "the store is away");
  assertEquals(open, 0);
  assertEquals(await (await app.fetch(new Request("http://localhost/"))).json(), "Hello");
  assertEquals(open, 1);
  await assertRejects(() => app.stop(), Error, "the store is away");
});

Deno.test("Lifespans end, though a mounted application cannot be closed", async () => {
  const { app, events } = withUnclosable();
  await app.start();
  await assertRejects(() => app.stop(), Error, "the store is away");
  assertEquals(events, ["open", "closed"]);
});

Deno.test("A failed start ends lifespans and throws its error, though a mounted application cannot be closed", async () => {
  using log = new CapturedLog();
  const { app, events } = withUnclosable();
  const failing = new App();
  // deno-lint-ignore require-yield
  failing.lifespan(async function* () {
    throw new Error("no database");
  });
  app.mount("/failing", failing);
  await assertRejects(() => app.start(), Error, "no database");
  assertEquals(events, ["open", "closed"]);
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "the store is away");
});

Deno.test("A mounted application does not start again while the one that mounts it stops", async () => {
  const events: string[] = [];
  const request = () => new Request("http://localhost/inner/hello");
  const inner = new App();
  inner.lifespan(async function* () {
    events.push("inner opens");
    yield;
    events.push("inner closes");
  });
  inner.get("/inner/hello", async () => "Hello");
  const app = new App();
  app.lifespan(async function* () {
    yield;
    const { status, body } = await inner.fetch(request());
    await body?.cancel();
    events.push(`closes: ${status}`);
  });
  app.mount("/inner", inner, { strip: false });
  await app.start();
  await app.stop();
  assertEquals(events.splice(0), ["inner opens", "inner closes", "closes: 503"]);
  assertEquals(await (await app.fetch(request())).json(), "Hello");
  await app.stop();
});

/** An application that mounts one whose store cannot be closed. */
function withUnclosable(): { readonly app: App; readonly events: readonly string[] } {
  const store = new SmallStore();
  store.close = () => Promise.reject(new Error("the store is away"));
  const inner = new App({ topics: store });
  inner.topic("orders", { durable: true });
  const events: string[] = [];
  const app = new App();
  app.lifespan(async function* () {
    events.push("open");
    yield;
    events.push("closed");
  });
  app.mount("/inner", inner);
  return { app, events };
}
