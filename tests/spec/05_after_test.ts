// Section 5 of the contract: request.after() runs tasks after the last byte of the reply.

import { assert, assertEquals } from "@std/assert";
import { App, dependency } from "@webfw/core";
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

Deno.test("after() runs also when the handler fails, when input is invalid and when nothing matches", async () => {
  const ran: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    request.after(() => ran.push(request.path));
    return await next(request);
  });
  app.get("/fails", async () => {
    throw new Error("x");
  });
  app.get("/invalid", { query: { n: v.number() } }, async () => 1);
  using _log = new CapturedLog();
  const client = new TestClient(app);
  for (const path of ["/fails", "/invalid", "/missing"]) await client.get(path);
  await client.close();
  assertEquals(ran, ["/fails", "/invalid", "/missing"]);
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
