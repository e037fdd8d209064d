// Section 9 of the contract: limits of bodies and text, on by default.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, HTTPError, type HttpRequest, type Limits, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

const JSON_TYPE = { "content-type": "application/json" };
const MEBIBYTE = 1024 * 1024;

function reading(limits?: Limits): App {
  const app = new App(limits ? { limits } : {});
  app.post("/bound", { body: v.string() }, async (_request, { body }) => body.length);
  app.post("/json", async (request) => String(await request.json()).length);
  app.post("/text", async (request) => (await request.text()).length);
  app.post("/bytes", async (request) => (await request.bytes()).length);
  app.post("/form", async (request) => [...await request.formData()].length);
  app.post("/stream", async (request) => (await new Response(request.stream()).bytes()).length);
  return app;
}

/** A JSON string of this many bytes. */
function jsonOf(bytes: number): string {
  return `"${"a".repeat(bytes - 2)}"`;
}

Deno.test("JSON and text bodies of 1 MiB are taken, those of a byte more are 413", async () => {
  await using client = new TestClient(reading());
  for (const path of ["/bound", "/json", "/text", "/bytes"]) {
    assertEquals((await client.post(path, { body: jsonOf(MEBIBYTE), headers: JSON_TYPE })).status, 200, path);
    assertEquals((await client.post(path, { body: jsonOf(MEBIBYTE + 1), headers: JSON_TYPE })).status, 413, path);
  }
});

Deno.test("A body is measured in bytes, not in characters", async () => {
  await using client = new TestClient(reading({ body: 100 }));
  for (const path of ["/bound", "/json", "/text", "/bytes"]) {
    const [fits, large] = [`"${"€".repeat(32)}"`, `"${"€".repeat(33)}"`];
    assertEquals((await client.post(path, { body: fits, headers: JSON_TYPE })).status, 200, path);
    for (const headers of [JSON_TYPE, { ...JSON_TYPE, "content-length": "101" }]) {
      assertEquals((await client.post(path, { body: large, headers })).status, 413, path);
    }
  }
});

Deno.test("An urlencoded body of 1 MiB is taken, one of a byte more is 413", async () => {
  await using client = new TestClient(reading());
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  assertEquals((await client.post("/form", { body: "a=" + "x".repeat(MEBIBYTE - 2), headers })).status, 200);
  assertEquals((await client.post("/form", { body: "a=" + "x".repeat(MEBIBYTE - 1), headers })).status, 413);
});

Deno.test("A multipart body of 32 MiB is taken, a larger one is 413", async () => {
  await using client = new TestClient(reading());
  const [before, after] = [
    "--x\r\ncontent-disposition: form-data; name=a; filename=a\r\n\r\n",
    "\r\n--x--\r\n",
  ];
  const body = (size: number) => new Blob([before, new Uint8Array(size - before.length - after.length), after]);
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  assertEquals((await client.post("/form", { body: body(32 * MEBIBYTE), headers })).status, 200);
  assertEquals((await client.post("/form", { body: body(32 * MEBIBYTE + 1), headers })).status, 413);
});

Deno.test("A stream has no limit", async () => {
  await using client = new TestClient(reading({ body: 10 }));
  assertEquals(await client.post("/stream", { body: new Uint8Array(2 * MEBIBYTE) }).json(), 2 * MEBIBYTE);
});

Deno.test("A query of 1000 keys is taken, one of more is refused", async () => {
  const app = new App();
  app.get("/", { query: { q: v.optional(v.string()), list: v.optional(v.array(v.string())) } }, async () => 1);
  await using client = new TestClient(app);
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=`).join("&");
  assertEquals((await client.get(`/?${keys(1_000)}`)).status, 200);
  const { status } = await client.get(`/?${keys(1_001)}`);
  assert(status >= 400 && status < 500, String(status));
  assert((await client.get(`/?${"list=a&".repeat(1_001)}`)).status >= 400);
  assertEquals((await client.get(`/?${"&".repeat(5_000)}`)).status, 200);
});

Deno.test("Each limit can be set on the app and on a route; the app's is the default of a route", async () => {
  const app = new App({ limits: { body: 100, query: 2 } });
  const options = { query: { a: v.optional(v.string()) }, body: v.string() };
  app.post("/app", options, async () => 1);
  app.post("/larger", { ...options, limits: { body: 200 } }, async () => 1);
  app.post("/smaller", { ...options, limits: { body: 50, query: 1 } }, async () => 1);
  const router = new Router({ prefix: "/router" });
  router.post("/smaller", { ...options, limits: { body: 50, query: 1 } }, async () => 1);
  app.include(router);
  await using client = new TestClient(app);
  const table: [path: string, bytes: number, status: number][] = [
    ["/app?a=1&b=2", 100, 200],
    ["/app", 101, 413],
    ["/app?a=1&b=2&c=3", 10, 400],
    ["/larger?a=1&b=2", 200, 200],
    ["/larger", 201, 413],
    ["/larger?a=1&b=2&c=3", 10, 400],
    ["/smaller?a=1", 50, 200],
    ["/smaller", 51, 413],
    ["/smaller?a=1&b=2", 10, 400],
    ["/router/smaller?a=1", 50, 200],
    ["/router/smaller", 51, 413],
  ];
  for (const [path, bytes, status] of table) {
    const response = await client.post(path, { body: jsonOf(bytes), headers: JSON_TYPE });
    assertEquals(response.status, status, `${path} ${bytes}`);
  }
});

Deno.test("The limits of a route apply to its middleware, too", async () => {
  const app = new App({ limits: { body: 10 } });
  app.middleware(async (request, next) => {
    await request.text();
    return await next(request);
  });
  app.post("/small", { body: v.string() }, async () => 1);
  app.post("/large", { body: v.string(), limits: { body: 100 } }, async () => 1);
  await using client = new TestClient(app);
  assertEquals((await client.post("/small", { body: jsonOf(50), headers: JSON_TYPE })).status, 413);
  assertEquals((await client.post("/large", { body: jsonOf(50), headers: JSON_TYPE })).status, 200);
});

Deno.test("A body that does not arrive in time is 408", async () => {
  const readers: Record<string, (request: HttpRequest) => Promise<unknown>> = {
    json: (request) => request.json(),
    text: (request) => request.text(),
    bytes: (request) => request.bytes(),
    form: (request) => request.formData(),
  };
  for (const [name, read] of Object.entries(readers)) {
    const app = new App({ limits: { readTimeout: 20 } });
    app.post("/", async (request) => await read(request));
    await using client = new TestClient(app);
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"a":'));
      },
    });
    const headers = { "content-type": name === "form" ? "application/x-www-form-urlencoded" : "application/json" };
    const { status } = await client.post("/", { body, headers }).problem(408);
    assertEquals(status, 408, name);
  }
});

Deno.test("By default, a body must arrive within 30 s", async () => {
  const { setTimeout } = globalThis;
  const delays: unknown[] = [];
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    delays.push(ms);
    return setTimeout(run, ms);
  }) as typeof globalThis.setTimeout;
  try {
    await using client = new TestClient(reading());
    assertEquals((await client.post("/bound", { json: "x" })).status, 200);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  assertEquals(delays, [30_000]);
});

Deno.test("The handler can catch the error of a body that exceeds a limit", async () => {
  const app = new App({ limits: { body: 5 } });
  app.post("/", async (request) => {
    try {
      await request.text();
      return "read";
    } catch (error) {
      return error instanceof HTTPError ? error.status : "other";
    }
  });
  await using client = new TestClient(app);
  assertEquals(await client.post("/", { body: "too long" }).json(), 413);
  assertEquals(await client.post("/", { body: "short" }).json(), "read");
});

Deno.test("An unknown limit is an error, on the app and on a route", () => {
  assertThrows(() => new App({ limits: { bodies: 1 } as Untyped }), TypeError, '"bodies"');
  assertThrows(() => new App().get("/", { limits: { size: 1 } as Untyped }, async () => {}), TypeError, '"size"');
});

Deno.test("A limit is a positive number", () => {
  for (const key of ["body", "multipart", "query", "readTimeout"]) {
    for (const value of [0, -1, NaN, null, "x", {}, []]) {
      const limits = { [key]: value } as Untyped;
      assertThrows(() => new App({ limits }), Error, key, `${key} ${value}`);
      assertThrows(() => new App().get("/", { limits }, async () => {}), Error, key, `${key} ${value}`);
    }
    new App({ limits: { [key]: 1 } });
    new App({ limits: { [key]: Infinity } });
  }
});

Deno.test("A time among the limits may be written as a text with its unit", async () => {
  for (const time of ["15s", "2m", "24h", "7d"]) new App({ limits: { readTimeout: time as Untyped } });
  for (const time of ["15", "s", "1w", "-1s", "", "1 s x"]) {
    assertThrows(() => new App({ limits: { readTimeout: time as Untyped } }), Error, undefined, time);
  }
  const app = new App({ limits: { readTimeout: "1h" as Untyped } });
  app.post("/", { body: v.string() }, async (_request, { body }) => body);
  await using client = new TestClient(app);
  assertEquals(await client.post("/", { json: "in time" }).json(), "in time");
});
