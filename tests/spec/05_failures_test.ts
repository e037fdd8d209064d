// Section 5 of the contract: "On failure the error comes to the `yield`", and
// "`dependency({ until: "handler" }, …)` finishes before the reply is sent".

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, Router, SSE } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { timeout } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { ticks } from "./support/ticks.ts";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

/** A dependency that notes how it ends. */
function transaction(notes: string[], name = "db", options: Untyped = {}) {
  return dependency(options, async function* () {
    notes.push(`${name} begins`);
    try {
      yield { write: (text: string) => notes.push(text) };
      notes.push(`${name} commits`);
    } catch (error) {
      notes.push(`${name} rolls back: ${error instanceof Error ? error.message : error}`);
    } finally {
      notes.push(`${name} closes`);
    }
  });
}

const ROLLED_BACK = (message: string) => ["db begins", `db rolls back: ${message}`, "db closes"];

Deno.test("What the handler throws or returns as an error comes to the yield, and is the reply all the same", async () => {
  const notes: string[] = [];
  const db = transaction(notes);
  const app = new App();
  app.get("/error", { deps: { db } }, async () => {
    throw new Error("broken");
  });
  app.get("/http", { deps: { db } }, async () => {
    throw new HTTPError(409, "taken");
  });
  app.get("/value", { deps: { db } }, async () => await Promise.reject("a string"));
  app.get("/undefined", { deps: { db } }, async () => await Promise.reject(undefined));
  app.get("/returned", { deps: { db } }, async () => new HTTPError(409, "taken"));
  app.get("/fine", { deps: { db } }, async () => 1);
  using log = new CapturedLog();
  await using client = new TestClient(app);
  for (
    const [path, status, message] of [
      ["/error", 500, "broken"],
      ["/http", 409, "taken"],
      ["/value", 500, "a string"],
      ["/undefined", 500, "undefined"],
      ["/returned", 409, "taken"],
    ] as const
  ) {
    assertEquals((await client.get(path)).status, status);
    assertEquals(notes.splice(0), ROLLED_BACK(message), path);
  }
  assertEquals(log.lines.length, 3);
  await client.get("/fine");
  assertEquals(notes, ["db begins", "db commits", "db closes"]);
});

Deno.test("A thrown value with a method then() is thrown into the generator as it is", async () => {
  const given: unknown[] = [];
  const db = dependency(async function* () {
    try {
      yield 1;
    } catch (error) {
      given.push(error);
      throw error;
    }
  });
  const thrown = { then: (resolve: (value: string) => void) => resolve("unwrapped") };
  const app = new App();
  app.get("/", { deps: { db } }, async () => {
    throw thrown;
  });
  using _log = new CapturedLog();
  await using client = new TestClient(app);
  await client.get("/").problem(500);
  assertEquals(given, [thrown]);
});

Deno.test("A result that does not fit the model, or has no JSON form, comes to the yield", async () => {
  const notes: string[] = [];
  const app = new App();
  app.get("/model", { deps: { db: transaction(notes) }, response: v.number() }, async () => "x" as Untyped);
  app.get("/circle", { deps: { db: transaction(notes) } }, async () => {
    const circle: Record<string, unknown> = {};
    return circle.self = circle;
  });
  using _log = new CapturedLog();
  await using client = new TestClient(app);
  for (const path of ["/model", "/circle"]) {
    await client.get(path).problem(500);
    assertStringIncludes(notes.splice(0).join(), "db rolls back: ");
  }
});

Deno.test("A later dependency, a later guard and invalid input come to the yield of what is open", async () => {
  const notes: string[] = [];
  const db = transaction(notes);
  const later = dependency({ deps: { db } }, async () => {
    throw new HTTPError(403, "later");
  });
  const user = bearer(async () => null);
  const app = new App();
  app.get("/dependency", { deps: { later } }, async () => 1);
  const scoped = new Router({ prefix: "/scoped", deps: { db } });
  scoped.get("/guard", { deps: { user } }, async () => 1);
  scoped.get("/input", { query: { n: v.number() } }, async () => 1);
  app.include(scoped);
  await using client = new TestClient(app);
  for (
    const [path, status, message] of [
      ["/dependency", 403, "later"],
      ["/scoped/guard", 401, "Send a bearer token in the Authorization header"],
      ["/scoped/input", 422, "The request does not fit its description"],
    ] as const
  ) {
    await client.get(path).problem(status);
    assertEquals(notes.splice(0), ROLLED_BACK(message), path);
  }
});

Deno.test("Of parallel dependencies, all that are open get the error of the first one that failed", async () => {
  const notes: string[] = [];
  const fails = async () => {
    throw new HTTPError(503, "first");
  };
  const slow = dependency(async function* () {
    await ticks(3);
    notes.push("slow begins");
    try {
      yield 1;
    } catch (error) {
      notes.push(`slow: ${(error as Error).message}`);
    }
  });
  const app = new App();
  app.get("/", { deps: { fails, slow, db: transaction(notes) } }, async () => notes.push("handler"));
  await using client = new TestClient(app);
  await client.get("/").problem(503);
  assertEquals(notes, ["db begins", "slow begins", "slow: first", "db rolls back: first", "db closes"]);
});

Deno.test("What a generator throws in its turn is the reply, and comes to the outer ones, the last made first", async () => {
  const notes: string[] = [];
  const outer = transaction(notes, "outer");
  const translates = dependency({ deps: { outer } }, async function* () {
    try {
      yield 1;
    } catch (cause) {
      throw new HTTPError(409, "translated", { cause });
    }
  });
  const swallows = dependency({ deps: { translates } }, async function* () {
    try {
      yield 1;
    } catch (error) {
      notes.push(`swallowed: ${(error as Error).message}`);
      return;
    }
  });
  const app = new App();
  app.get("/", { deps: { swallows } }, async () => {
    throw new Error("unique constraint");
  });
  using log = new CapturedLog();
  await using client = new TestClient(app);
  assertEquals((await client.get("/").problem(409)).detail, "translated");
  assertEquals(notes, [
    "outer begins",
    "swallowed: unique constraint",
    "outer rolls back: translated",
    "outer closes",
  ]);
  assertEquals(log.lines, []);
});

Deno.test("A rollback that fails hides no error: both are in the log", async () => {
  const db = dependency(async function* () {
    try {
      yield 1;
    } catch {
      throw new Error("no transaction is active");
    }
  });
  const app = new App();
  app.get("/", { deps: { db } }, async () => {
    throw new Error("the first fault");
  });
  using log = new CapturedLog();
  await using client = new TestClient(app);
  await client.get("/").problem(500);
  assertStringIncludes(log.text, "the first fault");
  assertStringIncludes(log.text, "no transaction is active");
  assertEquals(log.lines.length, 2);
});

Deno.test("A generator that yields again after an error is closed, and that is the error", async () => {
  const notes: string[] = [];
  const again = dependency(async function* () {
    try {
      yield 1;
    } catch {
      try {
        yield 2;
      } finally {
        notes.push("closed");
      }
    }
  });
  const app = new App();
  app.get("/", { deps: { again } }, async () => {
    throw new HTTPError(409, "the first fault");
  });
  using log = new CapturedLog();
  await using client = new TestClient(app);
  await client.get("/").problem(500);
  assertEquals(notes, ["closed"]);
  assertStringIncludes(log.text, "it yielded more than once after an error, yield one value");
  assertStringIncludes(log.text, "the first fault");
});

Deno.test("The error comes to the yield before the reply is sent: it can set a header", async () => {
  const db = dependency(async function* (request) {
    try {
      yield 1;
    } catch {
      request.replyHeaders.set("x-rolled-back", "yes");
    }
  });
  const app = new App();
  app.get("/", { deps: { db } }, async () => {
    throw new HTTPError(409);
  });
  await using client = new TestClient(app);
  assertEquals((await client.get("/")).headers.get("x-rolled-back"), "yes");
});

Deno.test("until: a commit that fails is the reply, and comes to what is still open, the last made first", async () => {
  const notes: string[] = [];
  const plain = transaction(notes, "plain");
  const first = transaction(notes, "first", { until: "handler", deps: { plain } });
  const commits = dependency({ until: "handler", deps: { first } }, async function* () {
    yield 1;
    notes.push("commit fails");
    throw new HTTPError(409, "serialization failure");
  });
  const last = transaction(notes, "last", { until: "handler", deps: { commits } });
  const after = dependency({ deps: { plain } }, async function* () {
    try {
      yield 1;
    } catch (error) {
      notes.push(`after: ${(error as Error).message}`);
    }
  });
  const app = new App();
  app.get("/", { deps: { last, after } }, async (request) => {
    request.after(() => notes.push("mail"));
    return notes.push("handler");
  });
  await using client = new TestClient(app);
  assertEquals((await client.get("/").problem(409)).detail, "serialization failure");
  const begins = ["plain begins", "first begins", "last begins"];
  assertEquals(notes.filter((note) => !begins.includes(note)), [
    "handler",
    "last commits",
    "last closes",
    "commit fails",
    "after: serialization failure",
    "first rolls back: serialization failure",
    "first closes",
    "plain rolls back: serialization failure",
    "plain closes",
  ]);
});

Deno.test("until: it ends after the model was checked, and before the reply: its headers are on it", async () => {
  const notes: string[] = [];
  const db = dependency({ until: "handler" }, async function* (request) {
    try {
      yield 1;
      notes.push("commits");
      request.replyHeaders.set("x-commit", "7");
    } catch {
      notes.push("rolls back");
    }
  });
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    notes.push("middleware");
    return response;
  });
  app.get("/fine", { deps: { db }, response: v.number() }, async () => 1);
  app.get("/misfit", { deps: { db }, response: v.number() }, async () => "x" as Untyped);
  using _log = new CapturedLog();
  await using client = new TestClient(app);
  assertEquals((await client.get("/fine")).headers.get("x-commit"), "7");
  assertEquals(notes.splice(0), ["commits", "middleware"]);
  await client.get("/misfit").problem(500);
  assertEquals(notes, ["rolls back", "middleware"]);
});

Deno.test("until: a stream begins after it, and is cancelled where it fails", async () => {
  const notes: string[] = [];
  const db = dependency({ query: { fails: v.boolean() }, until: "handler" }, async function* (_request, { fails }) {
    yield 1;
    notes.push("ends");
    if (fails) throw new HTTPError(409);
  });
  const app = new App();
  async function* parts() {
    try {
      for (const part of ["a", "b"]) {
        notes.push(part);
        yield part;
      }
    } finally {
      notes.push("source ends");
    }
  }
  app.get("/", { deps: { db } }, async () => parts());
  await using client = new TestClient(app);
  assertEquals(await client.get("/?fails=false").text(), '"a"\n"b"\n');
  assertEquals(notes.splice(0), ["a", "ends", "b", "source ends"]);
  await client.get("/?fails=true").problem(409);
  assertEquals(notes, ["a", "ends", "source ends"]);
});

Deno.test("until: mistakes are found at the declaration", () => {
  const fast = dependency({ until: "handler" }, async function* fast() {
    yield 1;
  });
  const through = dependency({ deps: { fast } }, async () => 1);
  assertThrows(
    () =>
      dependency({ deps: { through } }, async function* slow() {
        yield 1;
      }),
    TypeError,
    'Cannot declare slow: it ends after the reply, and needs "fast", which ends before it, give both until: "handler"',
  );
  assertThrows(
    () => dependency({ until: "handler" }, async function plain() {}),
    TypeError,
    'Cannot declare plain: "until" is for a dependency that yields',
  );
  assertThrows(
    () => dependency({ until: "reply" } as Untyped, async function* wrong() {}),
    TypeError,
    'Cannot declare wrong: "until" must be "handler", got "reply"',
  );
});

Deno.test("until: a handler that streams cannot get what ends before its stream", async () => {
  const notes: string[] = [];
  const db = transaction(notes, "db", { until: "handler" });
  const stream = async function* () {
    yield notes.push("stream");
  };
  const refused = (declare: () => unknown, route: string, name: string) =>
    assertThrows(
      declare,
      TypeError,
      `Cannot register ${route}: its handler streams, and "${name}" ends before the reply is sent, ` +
        'declare that dependency without until: "handler"',
    );
  const app = new App();
  refused(() => app.get("/rows", { deps: { db } }, stream), "GET /rows", "db");
  const router = new Router({ prefix: "/rows", deps: { rows: db } });
  refused(() => router.post("", stream), "POST /rows", "rows");
  refused(() => new App({ deps: { db } }).get("/", stream), "GET /", "db");
  // Others may need it, or stand around the route. A WebSocket ends it with its handler.
  const user = dependency({ deps: { db } }, async () => "ada");
  app.get("/by", { deps: { user } }, stream);
  app.websocket("/socket", { deps: { db } }, async () => {});
  const lines = new Router({ prefix: "/lines" });
  lines.get("", stream);
  app.include(lines, { deps: { db } });
  await using client = new TestClient(app);
  assertEquals([await client.get("/by").text(), await client.get("/lines").text()], ["2\n", "6\n"]);
  const once = ["db begins", "stream", "db commits", "db closes"];
  assertEquals(notes, [...once, ...once]);
});

Deno.test("The error of a stream whose head has gone comes to the yield, and its tasks do not run", async () => {
  for (const kind of ["lines", "events"] as const) {
    const notes: string[] = [];
    const closed = Promise.withResolvers<void>();
    const done = dependency(async function* () {
      try {
        yield 1;
      } finally {
        closed.resolve();
      }
    });
    const db = transaction(notes, "db", { deps: { done } });
    const app = new App();
    const source = async function* () {
      yield 1;
      throw new Error("source broke");
    };
    app.get("/", { deps: { db } }, async (request) => {
      request.after(() => notes.push("mail"));
      request.after(() => notes.push("always"), { always: true });
      return kind === "lines" ? source() : SSE(source());
    });
    using log = new CapturedLog();
    const response = await app.fetch(new Request("http://localhost/"));
    assertEquals(response.status, 200);
    await response.text().catch(() => {});
    await closed.promise;
    assertEquals(notes, ["db begins", "always", "db rolls back: source broke", "db closes"]);
    assertEquals(log.lines.length, 1);
  }
});

Deno.test("A client that leaves is no failure: the code after the yield runs", async () => {
  const notes: string[] = [];
  const closed = Promise.withResolvers<void>();
  const db = transaction(notes);
  const app = new App();
  app.get("/", { deps: { db } }, async function* (request) {
    request.after(closed.resolve);
    for (let part = 0;; part++) yield part;
  });
  const response = await app.fetch(new Request("http://localhost/"));
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await closed.promise;
  await app.stop();
  assertEquals(notes, ["db begins", "db commits", "db closes"]);
});

Deno.test("A handler that ends after timeout() has replied is not committed, and its tasks do not run", async () => {
  for (const options of [{}, { until: "handler" }]) {
    const notes: string[] = [];
    const replied = Promise.withResolvers<void>();
    const app = new App();
    app.middleware(timeout("10ms"));
    app.get("/", { deps: { db: transaction(notes, "db", options) } }, async (request) => {
      request.after(() => notes.push("mail"));
      await replied.promise;
      request.after(() => notes.push("late mail"));
      notes.push("handled");
    });
    const client = new TestClient(app);
    await client.get("/").problem(503);
    replied.resolve();
    await client.close();
    assertEquals(notes, ["db begins", "handled", "db rolls back: The reply took too long", "db closes"]);
  }
});

Deno.test("A middleware that throws over a reply: the error comes to the yield after the reply", async () => {
  const notes: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    await next(request);
    throw new HTTPError(502, "behind");
  });
  app.get("/plain", { deps: { db: transaction(notes) } }, async () => 1);
  app.get("/until", { deps: { db: transaction(notes, "db", { until: "handler" }) } }, async () => 1);
  const client = new TestClient(app);
  await client.get("/plain").problem(502);
  await client.get("/until").problem(502);
  await client.close();
  assertEquals(notes, [...ROLLED_BACK("behind"), "db begins", "db commits", "db closes"]);
});

Deno.test("An idempotent route: its error comes to the yield, and a kept reply says what was committed", async () => {
  const notes: string[] = [];
  let commits = true;
  const db = dependency({ until: "handler" }, async function* () {
    try {
      yield 1;
      if (!commits) throw new HTTPError(500, "commit failed");
      notes.push("commits");
    } catch (error) {
      notes.push("rolls back");
      throw error;
    }
  });
  const app = new App();
  app.post("/orders/{item}", { deps: { db }, idempotent: "1h", status: 201 }, async (request, { item }) => {
    notes.push(item);
    request.after(() => notes.push("mail"));
    if (item === "none") throw new HTTPError(404, "No such item");
    return item;
  });
  app.post("/plain", { deps: { db: transaction(notes) }, idempotent: "1h" }, async () => {
    throw new HTTPError(410, "gone");
  });
  using _log = new CapturedLog();
  const client = new TestClient(app);
  const order = (path: string, key: string) => client.post(path, { headers: { "idempotency-key": key } });

  assertEquals((await order("/orders/none", "k1")).status, 404);
  assertEquals(notes.splice(0), ["none", "rolls back"]);
  // The kept reply: the handler does not run.
  assertEquals((await order("/orders/none", "k1")).headers.get("idempotency-replayed"), "true");
  assertEquals(notes.splice(0), ["commits"]);

  commits = false;
  assertEquals((await order("/orders/pen", "k2")).status, 500);
  assertEquals(notes.splice(0), ["pen", "rolls back"]);
  commits = true;
  assertEquals((await order("/orders/pen", "k2")).status, 201);
  assertEquals((await order("/orders/pen", "k2")).status, 201);

  assertEquals((await order("/plain", "k3")).status, 410);
  await client.close();
  assertEquals(notes, ["pen", "commits", "mail", "commits", ...ROLLED_BACK("gone")]);
});

Deno.test("Calls of tools, also in a batch, roll back each by itself", async () => {
  const notes: string[] = [];
  const db = transaction(notes);
  const app = new App();
  app.post("/fail", { deps: { db }, tool: true }, async function fail() {
    throw new HTTPError(409, "tool");
  });
  app.post("/work", { deps: { db }, tool: true }, async function work() {
    return 1;
  });
  const call = (id: number, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-03-26",
  };
  await using client = new TestClient(app);
  for (const body of [call(1, "fail"), [call(1, "fail"), call(2, "work")]]) {
    const response = await client.post("/mcp", { body: JSON.stringify(body), headers });
    assertEquals(response.status, 200, await response.text());
    assertStringIncludes(notes.join(), ROLLED_BACK("tool").join());
    assertEquals(notes.splice(0).includes("db commits"), Array.isArray(body));
  }
});

Deno.test("A replacement of a test ends where the dependency would", async () => {
  const db = dependency({ until: "handler" }, async function* () {
    yield "real";
  });
  const app = new App();
  const notes: string[] = [];
  app.get("/", { deps: { db } }, async () => notes.push("handler"));
  app.middleware(async (request, next) => {
    const response = await next(request);
    notes.push("reply");
    return response;
  });
  const fake = async function* () {
    yield "fake";
    notes.push("fake ends");
  };
  await using client = new TestClient(app, { override: [[db, fake]] });
  await client.get("/");
  assertEquals(notes, ["handler", "fake ends", "reply"]);
});

Deno.test("A dependency that yields an error is closed before the refusal", async () => {
  const notes: string[] = [];
  const refuses = dependency(async function* () {
    try {
      yield new HTTPError(403, "Not today");
    } finally {
      notes.push("closed");
    }
  });
  const app = new App();
  app.get("/", { deps: { refuses } }, async () => 1);
  await using client = new TestClient(app);
  await client.get("/").problem(403);
  assertEquals(notes, ["closed"]);
});
