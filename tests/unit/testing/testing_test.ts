import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, HTTPError, SSE } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

function echoing(): App {
  const app = new App();
  app.route("/echo", { methods: ["GET", "POST", "PUT", "PATCH", "DELETE", "PURGE"] }, async (request) => ({
    method: request.method,
    search: request.url.search,
    type: request.headers.get("content-type"),
    custom: request.headers.get("x-custom"),
    cookie: request.headers.get("cookie"),
    body: await request.text(),
  }));
  app.get("/text", async () => new Response("text"));
  app.get("/missing", async () => {
    throw new HTTPError(404, "No such thing");
  });
  app.get("/invalid", { query: { q: v.number() } }, async () => 1);
  return app;
}

Deno.test("Each verb sends its method", async () => {
  await using client = new TestClient(echoing());
  const replies = [
    client.get("/echo"),
    client.post("/echo"),
    client.put("/echo"),
    client.patch("/echo"),
    client.delete("/echo"),
    client.request("PURGE", "/echo"),
  ];
  const methods: unknown[] = [];
  for (const reply of replies) methods.push((await reply.json<{ method: string }>()).method);
  assertEquals(methods, ["GET", "POST", "PUT", "PATCH", "DELETE", "PURGE"]);
  const head = await client.head("/text");
  assertEquals([head.status, await head.text()], [200, ""]);
});

Deno.test("A query is added to that of the path: lists repeat their name, undefined sends nothing", async () => {
  await using client = new TestClient(echoing());
  const query = { a: 1, b: [true, "x y"], c: undefined, d: null, e: 5n, f: [] };
  const { search } = await client.get("/echo?z=0", { query }).json<{ search: string }>();
  assertEquals(search, "?z=0&a=1&b=true&b=x+y&d=null&e=5");
});

Deno.test("json sends a body as application/json, unless another type is given", async () => {
  await using client = new TestClient(echoing());
  const sent = await client.post("/echo", { json: { a: [1] } }).json<Record<string, unknown>>();
  assertEquals([sent.type, sent.body], ["application/json", '{"a":[1]}']);
  const headers = { "content-type": "application/merge-patch+json" };
  const other = await client.patch("/echo", { json: null, headers }).json<Record<string, unknown>>();
  assertEquals([other.type, other.body], ["application/merge-patch+json", "null"]);
});

Deno.test("A body, headers and cookies are sent as they are", async () => {
  await using client = new TestClient(echoing());
  const init = { body: "raw", headers: { "X-Custom": "1" }, cookies: { a: "1", b: "2=3" } };
  const sent = await client.put("/echo", init).json<Record<string, unknown>>();
  assertEquals([sent.body, sent.custom, sent.cookie], ["raw", "1", "a=1; b=2=3"]);
});

Deno.test("The errors of the helpers show the reply", async () => {
  await using client = new TestClient(echoing());
  assertEquals(await client.get("/text").text(), "text");
  assertEquals((await client.get("/missing").problem()).detail, "No such thing");
  assertEquals((await client.get("/missing").problem(404)).status, 404);
  assertEquals((await client.get("/invalid").problem(422)).errors.length, 1);
  const wrong: Record<string, () => Promise<unknown>> = {
    "404 application/problem+json": () => client.get("/missing").json(),
    "No such thing": () => client.get("/missing").text(),
    "200 text/plain": () => client.get("/text").json(),
    "wanted an error": () => client.get("/text").problem(),
    "wanted 409": () => client.get("/missing").problem(409),
  };
  for (const [part, read] of Object.entries(wrong)) await assertRejects(read, Error, part);
});

Deno.test("Lifespans start with the first request and end with the client", async () => {
  const notes: string[] = [];
  const app = echoing();
  app.lifespan(async function* () {
    notes.push("starts");
    yield;
    notes.push("ends");
  });
  {
    await using client = new TestClient(app);
    assertEquals(notes, []);
    await client.get("/text");
    await client.get("/text");
    assertEquals(notes, ["starts"]);
  }
  assertEquals(notes, ["starts", "ends"]);
});

Deno.test("A lifespan that fails to start fails the test that asks", async () => {
  const app = new App();
  app.lifespan(async function* () {
    throw new Error("no database");
    // deno-lint-ignore no-unreachable
    yield;
  });
  await using client = new TestClient(app);
  await assertRejects(() => client.get("/").text(), Error, "no database");
});

Deno.test("Paths are relative to a base, and anything with fetch can be tested", async () => {
  const app = { fetch: (request: Request) => Response.json(request.url) };
  await using client = new TestClient(app, "https://books.example/v1");
  assertEquals(await client.get("/x?a=1").json(), "https://books.example/v1/x?a=1");
});

Deno.test("The body of a reply is whole when it is awaited, and can be read", async () => {
  const app = new App();
  let parts = 0;
  app.get("/", async function* () {
    for (; parts < 3; parts++) yield parts;
  });
  await using client = new TestClient(app);
  const response = await client.get("/");
  assertEquals(parts, 3);
  assertEquals(await response.text(), "0\n1\n2\n");
  assert(response.headers.has("content-type"));
});

Deno.test("The signal of a request ends an endless reply, and its source", async () => {
  const leaving = new AbortController();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const app = new App();
  app.get("/events", async () => {
    return SSE(async function* () {
      try {
        yield "first";
        leaving.abort();
        yield "second";
        await new Promise(() => {});
      } finally {
        end();
      }
    }());
  });
  await using client = new TestClient(app);
  await assertRejects(async () => await client.get("/events", { signal: leaving.signal }), DOMException, "aborted");
  await ended;
});
