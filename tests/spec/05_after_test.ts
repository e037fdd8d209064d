// Section 5 of the contract: request.after() runs tasks after the last byte of the reply.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, dependency, HTTPError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

Deno.test("after() runs tasks in their order after the reply, before dependencies are cleaned up", async () => {
  const order: string[] = [];
  const app = new App();
  const dep = dependency(async function* () {
    yield 1;
    order.push("cleanup");
  });
  app.middleware(async (request, next) => {
    request.after(() => order.push("of the middleware"));
    const response = await next(request);
    order.push("reply made");
    return response;
  });
  app.get("/", { deps: { dep } }, async (request) => {
    request.after(async () => {
      await Promise.resolve();
      order.push("first");
      request.after(() => order.push("added by a task"));
    });
    request.after(() => order.push("second"));
    order.push("handler");
    return 1;
  });
  const client = new TestClient(app);
  await client.get("/");
  await client.close();
  assertEquals(order, [
    "handler",
    "reply made",
    "of the middleware",
    "first",
    "second",
    "added by a task",
    "cleanup",
  ]);
});

Deno.test("A task of after() that throws is logged, and the others still run", async () => {
  const ran: string[] = [];
  const app = new App();
  app.get("/", async (request) => {
    request.after(() => {
      throw new Error("broken task");
    });
    request.after(async () => await Promise.reject(new Error("broken promise")));
    request.after(() => ran.push("last"));
  });
  using log = new CapturedLog();
  const client = new TestClient(app);
  assertEquals((await client.get("/")).status, 204);
  await client.close();
  assertEquals(ran, ["last"]);
  assertEquals(log.lines.length, 2);
  assert(log.text.includes("broken task") && log.text.includes("broken promise"));
});

Deno.test("after() does not run where an error becomes the reply, unless always: the handler fails, input is invalid, nothing matches", async () => {
  const ran: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    request.after(() => ran.push(`never ${request.path}`));
    request.after(() => ran.push(`always ${request.path}`), { always: true });
    return await next(request);
  });
  app.get("/fails", async (request) => {
    request.after(() => ran.push("never, of the handler"));
    request.after(() => ran.push("always, of the handler"), { always: true });
    throw new Error("x");
  });
  app.get("/returns", async (request) => {
    request.after(() => ran.push("never, of the handler"));
    return new HTTPError(409);
  });
  app.get("/invalid", { query: { n: v.number() } }, async () => 1);
  using _log = new CapturedLog();
  const client = new TestClient(app);
  for (const path of ["/fails", "/returns", "/invalid", "/missing"]) await client.get(path);
  await client.close();
  assertEquals(ran, [
    "always /fails",
    "always, of the handler",
    "always /returns",
    "always /invalid",
    "always /missing",
  ]);
});

Deno.test("after() of a middleware that throws does not run, and of onError it does", async () => {
  const ran: string[] = [];
  const app = new App();
  app.onError((_error, request) => request.after(() => ran.push("reported")));
  app.middleware(async (request, next) => {
    request.after(() => ran.push("of the middleware"));
    await (await next(request)).body?.cancel();
    throw new HTTPError(503);
  });
  app.get("/", async (request) => request.after(() => ran.push("of the handler")));
  const client = new TestClient(app);
  assertEquals((await client.get("/")).status, 503);
  await client.close();
  assertEquals(ran, ["reported"]);
});

Deno.test("after() runs where the handler returns an error reply itself, and thrown is nothing", async () => {
  const ran: string[] = [];
  const app = new App();
  app.get("/", async (request) => {
    request.after(() => ran.push("after"));
    return new Response("no", { status: 409 });
  });
  const client = new TestClient(app);
  assertEquals((await client.get("/")).status, 409);
  await client.close();
  assertEquals(ran, ["after"]);
});

Deno.test("after() refuses options that it does not know", async () => {
  const app = new App();
  app.get("/", async (request) => request.after(() => {}, { allways: true } as Record<never, never>));
  using log = new CapturedLog();
  await using client = new TestClient(app);
  await client.get("/").problem(500);
  assert(/the option .{1,2}allways.{1,2} is unknown, the nearest is .{1,2}always/.test(log.text), log.text);
});

Deno.test("after() runs after the last byte of a stream, not before", async () => {
  const order: string[] = [];
  const done = Promise.withResolvers<void>();
  const app = new App();
  app.get("/", async function* (request) {
    request.after(() => {
      order.push("after");
      done.resolve();
    });
    for (const part of [1, 2]) {
      order.push(`part ${part}`);
      yield part;
    }
    order.push("end");
  });
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(await response.text(), "1\n2\n");
  await done.promise;
  assertEquals(order, ["part 1", "part 2", "end", "after"]);
});

Deno.test("A test waits by client.idle() for the tasks and cleanups after its replies, also with replaced ones", async () => {
  const order: string[] = [];
  const { promise: mayEnd, resolve } = Promise.withResolvers<void>();
  const row = dependency(async function* () {
    yield "a row";
    await mayEnd;
    order.push("cleanup");
  });
  const name = dependency(async () => "original");
  const app = new App();
  app.post("/", { deps: { row, name } }, async (request, { name }) => {
    request.after(async () => {
      await mayEnd;
      order.push(name);
    });
  });
  await using client = new TestClient(app);
  await using replacing = new TestClient(app, { override: [[name, async () => "replaced"]] });
  for (const tester of [client, replacing]) {
    await tester.post("/");
    const idle = tester.idle().then(() => order.push("idle"));
    resolve();
    await idle;
  }
  assertEquals(order, ["original", "cleanup", "idle", "replaced", "cleanup", "idle"]);
  await using other = new TestClient({ fetch: () => new Response() });
  await assertRejects(() => other.idle(), TypeError, "the client must test an App");
});
