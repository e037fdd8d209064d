// Sections 4 and 13 of the contract: the arguments from a route's inputs, and the replies to
// invalid inputs.

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

Deno.test("An optional value that is not sent is left out, or its default", async () => {
  const app = new App();
  const query = {
    a: v.optional(v.number()),
    b: v.optional(v.number(), 5),
    c: v.nullish(v.string(), "c"),
    d: v.optional(v.array(v.number())),
    e: v.optional(v.array(v.number()), [1]),
    f: v.undefinedable(v.boolean()),
    g: v.fallback(v.number(), 9),
  };
  app.get("/", { query }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json<unknown>(), { b: 5, c: "c", e: [1], g: 9 });
});

Deno.test("A missing required value is 422, with its place and the expected type", async () => {
  const app = new App();
  app.get("/{p}", {
    query: { a: v.number(), b: v.boolean(), list: v.array(v.string()) },
    headers: { "x-h": v.string() },
    cookies: { c: v.string() },
  }, async () => 1);
  await using client = new TestClient(app);
  const { errors } = await client.get("/x").problem(422);
  assertEquals(errors.map((issue) => [issue.in, issue.path]), [
    ["query", ["a"]],
    ["query", ["b"]],
    ["query", ["list"]],
    ["header", ["x-h"]],
    ["cookie", ["c"]],
  ]);
  for (const { message, expected } of errors) assert(message !== "" && expected !== undefined);
});

Deno.test("An array in the query takes repeated keys, each converted", async () => {
  const app = new App();
  app.get("/", { query: { n: v.array(v.number()) } }, async (_request, { n }) => n);
  await using client = new TestClient(app);
  assertEquals(await client.get("/?n=1").json(), [1]);
  assertEquals(await client.get("/?n=1&x=0&n=2.5&n=-3").json(), [1, 2.5, -3]);
  const { errors } = await client.get("/?n=1&n=x&n=3&n=").problem(422);
  assertEquals(errors.map(({ path }) => path), [["n", 1], ["n", 3]]);
  assertEquals((await client.get("/?n=1,2")).status, 422);
  assertEquals((await client.get("/?n[]=1")).status, 422);
});

Deno.test("Tuples, bounded, nullable and optional arrays take repeated keys, too", async () => {
  const app = new App();
  app.get("/tuple", { query: { t: v.tuple([v.number(), v.boolean()]) } }, async (_request, { t }) => t);
  app.get("/bounded", { query: { t: v.pipe(v.array(v.number()), v.maxLength(2)) } }, async (_request, { t }) => t);
  app.get("/optional", { query: { t: v.optional(v.array(v.bigint())) } }, async (_request, { t }) => t?.map(String));
  app.get("/nullable", { query: { t: v.array(v.nullable(v.number())) } }, async (_request, { t }) => t);
  await using client = new TestClient(app);
  assertEquals(await client.get("/tuple?t=1&t=true").json<unknown>(), [1, true]);
  assertEquals((await client.get("/tuple?t=1")).status, 422);
  assertEquals(await client.get("/bounded?t=1&t=2").json(), [1, 2]);
  assertEquals((await client.get("/bounded?t=1&t=2&t=3")).status, 422);
  assertEquals(await client.get("/optional?t=1").json(), ["1"]);
  assertEquals((await client.get("/optional")).status, 204);
  assertEquals(await client.get("/nullable?t=1&t=null").json<unknown>(), [1, null]);
});

Deno.test("A header with a list is split at its commas", async () => {
  const app = new App();
  app.get("/", { headers: { "x-ids": v.array(v.number()) } }, async (_request, { headers }) => headers["x-ids"]);
  await using client = new TestClient(app);
  assertEquals(await client.get("/", { headers: { "x-ids": "1, 2,3" } }).json(), [1, 2, 3]);
});

Deno.test("A scalar sent twice is 422", async () => {
  const app = new App();
  const query = { a: v.string(), b: v.optional(v.number()), any: v.any(), fallback: v.fallback(v.string(), "x") };
  app.get("/", { query }, async () => 1);
  await using client = new TestClient(app);
  const queries = ["a=1&a=2", "a=1&a=1", "a=1&b=2&b=3", "a=1&b=2&b", "%61=1&a=2", "a=1&a=", "a=1&any=1&any=2"];
  queries.push("a=1&fallback=1&fallback=2");
  for (const query of queries) {
    const { errors } = await client.get(`/?${query}`).problem(422);
    assertEquals([errors[0]!.in, errors.length], ["query", 1], query);
  }
});

Deno.test("The query is read as a form: plus is a space, escapes are decoded once, keys as well", async () => {
  const app = new App();
  app.get("/", { query: { "a b": v.optional(v.string()), q: v.optional(v.string()) } }, async (_request, args) => args);
  await using client = new TestClient(app);
  const table: [query: string, expected: unknown][] = [
    ["q=a+b", { q: "a b" }],
    ["q=a%2Bb", { q: "a+b" }],
    ["q=a%20b", { q: "a b" }],
    ["q=%2541", { q: "%41" }],
    ["q=a=b", { q: "a=b" }],
    ["q=", { q: "" }],
    ["q", { q: "" }],
    ["a+b=1", { "a b": "1" }],
    ["a%20b=1", { "a b": "1" }],
    ["%71=1", { q: "1" }],
    ["&&q=1&", { q: "1" }],
    ["=x&q=1", { q: "1" }],
    ["Q=1", {}],
    ["q=é", { q: "é" }],
    ["q=%C3%A9", { q: "é" }],
    ["q=1#q=2", { q: "1" }],
    ["q=a;q=b", { q: "a;q=b" }],
    ["q=?", { q: "?" }],
  ];
  for (const [query, expected] of table) assertEquals(await client.get(`/?${query}`).json(), expected, query);
});

Deno.test("A path parameter is decoded once", async () => {
  const app = new App();
  app.get("/{x}", async (_request, { x }) => x);
  await using client = new TestClient(app);
  for (
    const [path, value] of [
      ["/a%2Fb", "a/b"],
      ["/a%2fb", "a/b"],
      ["/%2541", "%41"],
      ["/a+b", "a+b"],
      ["/%C3%A9", "é"],
      ["/é", "é"],
      ["/%F0%9F%98%80", "😀"],
      ["/a%20b", "a b"],
      ["/%3F%23", "?#"],
      ["/%7Bx%7D", "{x}"],
      ["/a;b=c", "a;b=c"],
      ["/a:b@c", "a:b@c"],
    ] as const
  ) assertEquals(await client.get(path).json(), value, path);
});

Deno.test("Every issue is found, in all places at once", async () => {
  const app = new App();
  app.post("/{id}", {
    params: { id: v.number() },
    query: { page: v.pipe(v.number(), v.integer(), v.minValue(1)), size: v.number() },
    headers: { "x-n": v.number() },
    cookies: { n: v.number() },
    body: v.object({ title: v.string(), tags: v.array(v.pipe(v.string(), v.minLength(2))) }),
  }, async () => 1);
  await using client = new TestClient(app);
  const { errors } = await client.post("/x?page=0.5", {
    headers: { "x-n": "x" },
    cookies: { n: "x" },
    json: { title: 1, tags: ["ab", "c", 5] },
  }).problem(422);
  assertEquals(errors.map((issue) => [issue.in, ...issue.path].join(" ")), [
    "path id",
    "query page",
    "query page",
    "query size",
    "header x-n",
    "cookie n",
    "body title",
    "body tags 1",
    "body tags 2",
  ]);
});

Deno.test("A message that the schema's author wrote is the message of the issue", async () => {
  const app = new App();
  const query = {
    a: v.number("a must be a number"),
    b: v.message(v.number(), "b must be a number"),
    d: v.pipe(v.string(), v.email("d must be an address")),
  };
  app.get("/", { query }, async () => 1);
  await using client = new TestClient(app);
  const { errors } = await client.get("/?a=x&b=x&d=x").problem(422);
  assertEquals(errors.map(({ message }) => message), [
    "a must be a number",
    "b must be a number",
    "d must be an address",
  ]);
});

Deno.test("Invalid input never reaches the handler or its dependencies", async () => {
  const app = new App();
  const ran: string[] = [];
  const dep = async () => ran.push("dependency");
  app.post("/{id}", { params: { id: v.number() }, body: v.object({ a: v.string() }), deps: { dep } }, async () => {
    ran.push("handler");
  });
  await using client = new TestClient(app);
  assertEquals((await client.post("/x", { json: { a: "a" } })).status, 422);
  assertEquals((await client.post("/1", { json: { a: 1 } })).status, 422);
  assertEquals((await client.post("/1", { json: [] })).status, 422);
  assertEquals((await client.post("/1")).status, 422);
  assertEquals(ran, []);
  assertEquals((await client.post("/1", { json: { a: "a" } })).status, 204);
  assertEquals(ran, ["dependency", "handler"]);
});
