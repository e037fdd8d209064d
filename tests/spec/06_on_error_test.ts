// Section 6 and 13 of the contract: app.onError() shapes error replies in one place.

import { assert, assertEquals, assertFalse, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { App, HTTPError, type HttpRequest, RouteError, Router, ValidationError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

Deno.test("onError gets every error reply as an HTTPError, a foreign error as 500 with its cause", async () => {
  const app = new App();
  const seen: [status: number, cause: unknown, path: string][] = [];
  const boom = new Error("boom");
  app.onError((error, request) => {
    assertInstanceOf(error, HTTPError);
    seen.push([error.status, error.cause, request.path]);
  });
  app.middleware(async (request, next) => {
    if (request.path === "/middleware") throw boom;
    return await next(request);
  });
  app.get("/own", async () => {
    throw new HTTPError(409);
  });
  app.get("/boom", async () => {
    throw boom;
  });
  app.get("/invalid", { query: { q: v.number() } }, async () => 1);
  app.get("/misfit", { response: v.number() }, async () => "x" as unknown as number);
  await using client = new TestClient(app);
  using _log = new CapturedLog();
  for (const path of ["/own", "/boom", "/middleware", "/invalid", "/missing", "/%ff"]) await client.get(path);
  await client.post("/own");
  assertEquals(seen, [
    [409, undefined, "/own"],
    [500, boom, "/boom"],
    [500, boom, "/middleware"],
    [422, undefined, "/invalid"],
    [404, undefined, "/missing"],
    [400, undefined, "/%ff"],
    [405, undefined, "/own"],
  ]);
  await client.get("/misfit");
  assertEquals(seen.at(-1)![0], 500);
});

Deno.test("onError returns a Response, or nothing for the default reply; it may be async", async () => {
  const app = new App();
  app.onError(async (error) => {
    await Promise.resolve();
    if (error.status !== 404) return undefined;
    return Response.json({ oops: error.detail }, { status: 410, headers: { "x-a": "1" } });
  });
  await using client = new TestClient(app);
  const shaped = await client.get("/missing");
  assertEquals([shaped.status, shaped.headers.get("x-a")], [410, "1"]);
  assertEquals((await client.get("/%ff").problem(400)).status, 400);
});

Deno.test("onError sees the issues of a ValidationError", async () => {
  const app = new App();
  app.onError((error) => {
    if (!(error instanceof ValidationError)) return undefined;
    return Response.json(error.issues.map(({ path }) => path), { status: error.status });
  });
  app.get("/", { query: { a: v.number(), b: v.number() } }, async () => 1);
  await using client = new TestClient(app);
  const response = await client.get("/");
  assertEquals([response.status, await response.json()], [422, [["a"], ["b"]]]);
});

Deno.test("Outer middleware sees the reply of onError", async () => {
  const app = new App();
  const seen: number[] = [];
  app.onError((error) => new Response(null, { status: error.status + 1 }));
  app.middleware(async (request, next) => {
    const response = await next(request);
    seen.push(response.status);
    return response;
  });
  const router = new Router();
  router.middleware(async () => {
    throw new HTTPError(409);
  });
  router.get("/", async () => 1);
  app.include(router);
  await using client = new TestClient(app);
  assertEquals((await client.get("/")).status, 410);
  assertEquals(seen, [410]);
});

Deno.test("An onError that fails is logged, and the reply is a 500 that says nothing of it", async () => {
  for (const fail of [() => Promise.reject(new Error("shaping failed")), () => "no response" as unknown as Response]) {
    const app = new App();
    app.onError(fail);
    await using client = new TestClient(app);
    using log = new CapturedLog();
    const body = JSON.stringify(await client.get("/").problem(500));
    assertFalse(body.includes("shaping"));
    assert(log.lines.length >= 1);
  }
});

Deno.test("onError returns or throws an HTTPError for the reply of that error", async () => {
  class SoldOut extends Error {}
  const app = new App();
  app.onError((error) => {
    if (error.cause instanceof SoldOut) return new HTTPError(409, "Sold out", { headers: { "retry-after": "60" } });
    if (error.status === 404) throw new HTTPError(410, "Gone");
    if (error.status === 418) return Promise.resolve(new HTTPError(503, "Later", { cause: new Error("the lookup") }));
    if (error.status === 500) throw new HTTPError(502, "Elsewhere", { cause: error.cause });
    return undefined;
  });
  app.get("/sold-out", async () => {
    throw new SoldOut("no copies");
  });
  app.get("/teapot", async () => {
    throw new HTTPError(418);
  });
  app.get("/broken", async () => {
    throw new Error("the table is missing");
  });
  await using client = new TestClient(app);
  using log = new CapturedLog();
  const reply = await client.get("/sold-out");
  assertEquals(reply.headers.get("content-type"), "application/problem+json");
  assertEquals([reply.headers.get("retry-after"), await reply.json()], [
    "60",
    { type: "about:blank", title: "Conflict", status: 409, detail: "Sold out" },
  ]);
  assertEquals((await client.get("/missing").problem(410)).detail, "Gone");
  assertEquals(log.text, "");
  await client.get("/teapot").problem(503);
  assertStringIncludes(log.text, "the lookup");
  await client.get("/broken").problem(502);
  assertEquals(log.lines.filter((line) => line.includes("the table is missing")).length, 1);
});

Deno.test("A foreign error for which onError refuses the client is no failure, and is not logged", async () => {
  class Missing extends Error {}
  const app = new App();
  app.onError(({ cause }, { path }) => {
    if (!(cause instanceof Missing)) return undefined;
    return Response.json({ gone: true }, { status: path === "/hidden" ? 200 : 404 });
  });
  const missing = async () => {
    throw new Missing("no row");
  };
  app.get("/missing", missing);
  app.get("/hidden", missing);
  app.get("/broken", async () => {
    throw new Error("the table is missing");
  });
  await using client = new TestClient(app);
  using log = new CapturedLog();
  assertEquals((await client.get("/missing")).status, 404);
  assertEquals(log.text, "");
  // An error that is told as a success is logged: nobody else would learn of it.
  assertEquals((await client.get("/hidden")).status, 200);
  assertStringIncludes(log.text, "no row");
  assertEquals((await client.get("/broken")).status, 500);
  assertStringIncludes(log.text, "the table is missing");
});

Deno.test("onError can be set once, and before the app serves", async () => {
  const app = new App();
  app.onError(() => {});
  assertEquals(assertThrows(() => app.onError(() => {}), RouteError).code, "conflict");
  const other = new App();
  await (await other.fetch(new Request("http://localhost/"))).body?.cancel();
  assertEquals(assertThrows(() => other.onError(() => {}), RouteError).code, "frozen");
});

Deno.test("onError shapes HEAD replies without a body", async () => {
  const app = new App();
  app.onError((_error: HTTPError, request: HttpRequest) => new Response(request.path, { status: 404 }));
  await using client = new TestClient(app);
  const response = await client.head("/x");
  assertEquals([response.status, await response.text()], [404, ""]);
});

Deno.test("Only the framework's error replies are documented with RFC 9457", () => {
  const describe = (shape: (app: App) => void): string[] => {
    const app = new App();
    app.get("/", { query: { a: v.number() } }, async () => 1);
    shape(app);
    return Object.values(app.openapi().components?.responses ?? {}).map(({ description }) => description);
  };
  const [own, invalid] = describe(() => {});
  assertStringIncludes(own!, "RFC 9457");
  assertStringIncludes(invalid!, "RFC 9457");
  const schema = v.object({ error: v.string() });
  for (
    const described of [
      describe((app) => app.onError(async () => {}, { schema })),
      describe((app) => app.onError(() => {})),
    ]
  ) {
    assertEquals(described.length, 2);
    assertFalse(described.join().includes("RFC"));
  }
});
