// Section 3 of the contract of guards: timeout().

import { assert, assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, Router } from "@webfw/core";
import { timeout } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "../support/captured_log.ts";
import { Serving } from "../support/serving.ts";

/** Long enough for no test. */
const NEVER = "1h";

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener("abort", () => resolve(signal.reason));
  });
}

Deno.test("timeout: 503, and request.signal is aborted", async () => {
  const app = new App();
  app.middleware(timeout(1));
  const reasons: unknown[] = [];
  app.get("/", async (request) => reasons.push(await aborted(request.signal)));
  await using client = new TestClient(app);
  const problem = await client.get("/").problem();
  assertEquals([problem.status, problem.detail], [503, "The reply took too long"]);
  assert(reasons[0] instanceof HTTPError);
});

Deno.test("timeout: a signal that is read after the time is aborted, too", async () => {
  const app = new App();
  app.middleware(timeout(1));
  const replied = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<boolean>();
  app.get("/", async (request) => {
    await replied.promise;
    seen.resolve(request.signal.aborted && request.signal === request.signal);
  });
  await using client = new TestClient(app);
  const reply = app.fetch(new Request("http://localhost/"));
  assertEquals((await reply).status, 503);
  replied.resolve();
  assert(await seen.promise);
  await (await reply).body?.cancel();
  assertEquals((await client.get("/other")).status, 404);
});

Deno.test("timeout: a reply in time is left alone, and its signal is not aborted", async () => {
  const app = new App();
  app.middleware(timeout(NEVER));
  let signal: AbortSignal | undefined;
  app.get("/", async (request) => {
    signal = request.signal;
    return "in time";
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), "in time");
  assertFalse(signal!.aborted);
});

Deno.test("timeout: the time to the head of the reply, not of what streams", async () => {
  const app = new App();
  app.middleware(timeout(20));
  app.get("/", async function* (request) {
    yield "head";
    // The time is over when another request, which began later, has run into it.
    const other = await app.fetch(new Request("http://localhost/slow"));
    yield [other.status, request.signal.aborted];
    await other.body?.cancel();
  });
  app.get("/slow", async (request) => await aborted(request.signal));
  await using client = new TestClient(app);
  const reply = await client.get("/");
  assertEquals(await reply.text(), '"head"\n[503,false]\n');
});

Deno.test("timeout: not for WebSockets", async () => {
  const app = new App();
  app.middleware(timeout(1));
  const slow = dependency(async () => {
    const other = await app.fetch(new Request("http://localhost/slow"));
    await other.body?.cancel();
    return other.status;
  });
  app.get("/slow", async (request) => await aborted(request.signal));
  app.websocket("/", { deps: { slow } }, async (socket, { slow }) => socket.send(String(slow)));
  await using client = new TestClient(app);
  await using socket = await client.websocket("/");
  assertEquals(await socket.receive(), "503");
});

Deno.test("timeout: the late reply is cancelled, and its error is not unhandled", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.middleware(timeout(1));
  const cancelled = Promise.withResolvers<void>();
  app.get("/stream", async (request) => {
    await aborted(request.signal);
    return new Response(new ReadableStream({ cancel: () => cancelled.resolve() }));
  });
  app.get("/error", async (request) => {
    await aborted(request.signal);
    throw new Error("late");
  });
  app.get("/reason", async (request) => {
    throw await aborted(request.signal);
  });
  await using client = new TestClient(app);
  assertEquals((await client.get("/stream")).status, 503);
  await cancelled.promise;
  assertEquals((await client.get("/reason")).status, 503);
  assertEquals(log.text, "");
  assertEquals((await client.get("/error")).status, 503);
  await app.stop();
  assertStringIncludes(log.text, "A request failed");
});

Deno.test("timeout: what the handler uses is cleaned up after the handler, also on a socket", async () => {
  const events: string[] = [];
  const cleaned = Promise.withResolvers<void>();
  const replied = Promise.withResolvers<void>();
  const early = dependency(async function* () {
    try {
      yield 1;
    } finally {
      events.push("early is closed");
      cleaned.resolve();
    }
  });
  const late = dependency({ deps: { early } }, async function* () {
    await replied.promise;
    try {
      yield 2;
    } finally {
      events.push("late is closed");
    }
  });
  const app = new App();
  app.middleware(timeout(1));
  app.get("/", { deps: { late } }, async () => {
    events.push("handler");
  });
  await using server = await Serving.start(app);
  const reply = await fetch(server.origin);
  assertEquals(reply.status, 503);
  await reply.body?.cancel();
  events.push("replied");
  replied.resolve();
  await cleaned.promise;
  assertEquals(events, ["replied", "handler", "late is closed", "early is closed"]);
});

Deno.test("timeout: the nearest of several ends a request, and outer middleware sees its 503", async () => {
  const app = new App();
  const seen: number[] = [];
  app.middleware(timeout(NEVER));
  app.middleware(async (request, next) => {
    const response = await next(request);
    seen.push(response.status);
    return response;
  });
  const router = new Router({ prefix: "/slow" });
  router.middleware(timeout(1));
  router.get("", async (request) => await aborted(request.signal));
  app.include(router);
  app.onError((error) => new Response(`shaped ${error.status}`, { status: error.status }));
  await using client = new TestClient(app);
  assertEquals(await (await client.get("/slow")).text(), "shaped 503");
  assertEquals(seen, [503]);
});

Deno.test("timeout: a middleware inside of it that fails has its error reply", async () => {
  const app = new App();
  app.middleware(timeout(NEVER));
  app.middleware(async (request, next) => {
    await next(request);
    throw new HTTPError(409);
  });
  app.get("/", async () => "fine");
  await using client = new TestClient(app);
  assertEquals((await client.get("/")).status, 409);
});

Deno.test("timeout: the signal of a client that leaves is aborted as without it", async () => {
  const app = new App();
  app.middleware(timeout(NEVER));
  const gone = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  app.get("/", async (request) => {
    arrived.resolve();
    await aborted(request.signal);
    gone.resolve();
  });
  await using server = await Serving.start(app);
  const leave = new AbortController();
  const reply = fetch(server.origin, { signal: leave.signal }).catch(() => {});
  await arrived.promise;
  leave.abort();
  await gone.promise;
  await reply;
});

Deno.test("timeout: a time that is none is refused where it is made", () => {
  assertThrows(() => timeout("soon" as "1s"), RangeError, "Cannot set the timeout");
});
