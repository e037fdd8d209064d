// Section 4 of the contract: how the result of a handler becomes a reply.

import { assert, assertEquals, assertFalse, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { App, html, HTTPError, redirect, text } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

function returning(result: unknown): TestClient {
  const app = new App();
  app.get("/", async () => result);
  return new TestClient(app);
}

Deno.test("A Response is sent unchanged", async () => {
  const given = new Response("teapot", { status: 418, headers: { "content-type": "text/x", "x-a": "1" } });
  const app = new App();
  app.get("/", { response: v.object({ a: v.string() }), status: 201 }, async () => given);
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals([...response.headers], [["content-type", "text/x"], ["x-a", "1"]]);
  assertEquals([response.status, await response.text()], [418, "teapot"]);
});

Deno.test("Anything else is sent as JSON, strings too", async () => {
  const table: [result: unknown, json: string][] = [
    ["text", '"text"'],
    ["", '""'],
    [0, "0"],
    [-1.5, "-1.5"],
    [true, "true"],
    [false, "false"],
    [null, "null"],
    [[], "[]"],
    [[1, "a", null], '[1,"a",null]'],
    [{}, "{}"],
    [{ a: undefined, b: { c: [true] } }, '{"b":{"c":[true]}}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [{ toJSON: () => ({ mine: 1 }) }, '{"mine":1}'],
    [5n, '"5"'],
    [{ big: [2n ** 70n] }, '{"big":["1180591620717411303424"]}'],
    ["é\u2028\ud800", '"é\u2028\\ud800"'],
    [new URL("http://x/"), '"http://x/"'],
    [Object.create(null, { a: { value: 1, enumerable: true } }), '{"a":1}'],
  ];
  for (const [result, json] of table) {
    await using client = returning(result);
    const response = await client.get("/");
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("content-type"), "application/json");
    assertEquals(await response.text(), json);
  }
});

Deno.test("The success status is 200 unless the route says another one", async () => {
  const app = new App();
  app.get("/default", async () => 1);
  app.get("/made", { status: 201 }, async () => 1);
  app.get("/accepted", { status: 202, response: v.number() }, async () => 1);
  app.get("/nothing", { status: 202 }, async () => undefined as unknown);
  await using client = new TestClient(app);
  for (const [path, status] of [["default", 200], ["made", 201], ["accepted", 202], ["nothing", 202]] as const) {
    assertEquals((await client.get(`/${path}`)).status, status, path);
  }
});

Deno.test("An error that is returned is an error, as if it was thrown", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.get("/missing", async () => new HTTPError(404, "No such book"));
  app.get("/model", { response: v.looseObject({}) }, async () => new HTTPError(409) as never);
  app.get("/broken", async () => new Error("no database"));
  app.post("/once", { idempotent: "1h" }, async () => new Error("no database"));
  await using client = new TestClient(app);
  assertEquals((await client.get("/missing").problem(404)).detail, "No such book");
  await client.get("/model").problem(409);
  await client.get("/broken").problem(500);
  const headers = { "idempotency-key": "1" };
  // What has failed is not kept.
  for (let n = 0; n < 2; n++) await client.post("/once", { headers }).problem(500);
  assertEquals(log.text.match(/Error: no database/g)?.length, 3);
});

Deno.test("undefined without a model is 204 without a body", async () => {
  const app = new App();
  app.delete("/", { summary: "Removes it" }, async () => {});
  app.delete("/plain", async () => undefined);
  await using client = new TestClient(app);
  for (const path of ["/", "/plain"]) {
    const response = await client.delete(path);
    assertEquals([response.status, response.body, response.headers.get("content-type")], [204, null, null]);
  }
});

Deno.test("A result with a status that has no body is an error that names the cure", async () => {
  const app = new App();
  app.delete("/", { status: 204 }, async () => ({ id: 1 }));
  await using client = new TestClient(app);
  using log = new CapturedLog();
  await client.delete("/").problem(500);
  assertStringIncludes(log.text, "Cannot reply with the result: the status 204 has no body, return nothing");
});

Deno.test("undefined with a model is a result that does not fit", async () => {
  const app = new App();
  app.get("/", { response: v.object({ a: v.optional(v.string()) }) }, async () => undefined as never);
  await using client = new TestClient(app);
  using _log = new CapturedLog();
  assertEquals((await client.get("/")).status, 500);
});

Deno.test("A value without a JSON form is a server error, and logged", async () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const failing = {
    toJSON() {
      throw new Error("no JSON today");
    },
  };
  for (const result of [() => 1, Symbol("x"), circle, failing]) {
    await using client = returning(result);
    using log = new CapturedLog();
    assertEquals((await client.get("/")).status, 500);
    assertEquals(log.lines.length, 1);
  }
});

const Leaf = v.object({ a: v.string() });
const Tree: v.GenericSchema = v.object({ name: v.string(), children: v.array(v.lazy(() => Tree)) });
const SECRET = "SECRET";
const leaf = { a: "x", secret: SECRET };

const MODELS: Record<string, [model: v.GenericSchema | v.GenericSchemaAsync, result: unknown, sent: unknown]> = {
  object: [Leaf, leaf, { a: "x" }],
  "nested object": [v.object({ in: v.object({ in: Leaf }) }), { in: { in: leaf, s: SECRET }, s: SECRET }, {
    in: { in: { a: "x" } },
  }],
  array: [v.array(Leaf), [leaf, leaf], [{ a: "x" }, { a: "x" }]],
  "array of arrays": [v.array(v.array(Leaf)), [[leaf]], [[{ a: "x" }]]],
  tuple: [v.tuple([Leaf, v.number()]), [leaf, 1, SECRET], [{ a: "x" }, 1]],
  record: [v.record(v.string(), Leaf), { k: leaf }, { k: { a: "x" } }],
  union: [v.union([v.number(), Leaf]), leaf, { a: "x" }],
  variant: [
    v.variant("kind", [v.object({ kind: v.literal("a"), a: v.string() }), v.object({ kind: v.literal("b") })]),
    { kind: "b", a: SECRET },
    { kind: "b" },
  ],
  intersection: [v.intersect([Leaf, v.object({ b: v.number() })]), { ...leaf, b: 1 }, { a: "x", b: 1 }],
  optional: [v.object({ o: v.optional(Leaf), p: v.optional(Leaf) }), { o: leaf }, { o: { a: "x" } }],
  nullable: [v.object({ o: v.nullable(Leaf), p: v.nullish(Leaf) }), { o: leaf, p: null }, { o: { a: "x" }, p: null }],
  lazy: [
    Tree,
    { name: "1", s: SECRET, children: [{ name: "2", s: SECRET, children: [] }] },
    { name: "1", children: [{ name: "2", children: [] }] },
  ],
  "pipe with a transformation": [v.pipe(Leaf, v.transform((value) => ({ upper: value.a.toUpperCase() }))), leaf, {
    upper: "X",
  }],
  "with rest": [v.objectWithRest({ a: v.string() }, Leaf), { a: "x", more: leaf }, { a: "x", more: { a: "x" } }],
  "default and fallback": [
    v.object({ d: v.optional(v.number(), 5), f: v.fallback(v.number(), 6) }),
    { f: SECRET },
    { d: 5, f: 6 },
  ],
  async: [v.objectAsync({ a: v.string(), in: v.arrayAsync(Leaf) }), { ...leaf, in: [leaf] }, {
    a: "x",
    in: [{ a: "x" }],
  }],
  bigint: [v.object({ n: v.bigint() }), { n: 5n, s: SECRET }, { n: "5" }],
  date: [v.object({ at: v.date() }), { at: new Date(0), s: SECRET }, { at: "1970-01-01T00:00:00.000Z" }],
  "class instance": [
    Leaf,
    new class {
      a = "x";
      secret = SECRET;
      toJSON() {
        return { secret: SECRET };
      }
    }(),
    { a: "x" },
  ],
};

for (const [name, [model, result, sent]] of Object.entries(MODELS)) {
  Deno.test(`A result is reduced to its model, so that no other field can leak: ${name}`, async () => {
    const app = new App();
    app.get("/", { response: model as v.GenericSchema }, async () => result);
    await using client = new TestClient(app);
    const body = await client.get("/").text();
    assertEquals(JSON.parse(body), sent);
    assertFalse(body.includes(SECRET));
  });
}

Deno.test("A result that does not fit its model is 500, logged with the path of the fault, and never sent", async () => {
  const table: [model: v.GenericSchema | v.GenericSchemaAsync, result: unknown, path: string][] = [
    [v.object({ title: v.string() }), { title: { SECRET } }, "title"],
    [v.object({ title: v.string() }), { titel: SECRET }, "title"],
    [v.object({ in: v.object({ pages: v.number() }) }), { in: { pages: SECRET } }, "in.pages"],
    [v.array(v.object({ pages: v.number() })), [{ pages: 1 }, { pages: SECRET }], "1.pages"],
    [v.object({ n: v.pipe(v.number(), v.maxValue(5)) }), { n: 6 }, "n"],
    [v.objectAsync({ pages: v.number() }), { pages: SECRET }, "pages"],
    [v.number(), SECRET, "result"],
  ];
  for (const [model, result, path] of table) {
    const app = new App();
    app.get("/books/{id}", { response: model as v.GenericSchema }, async () => result);
    await using client = new TestClient(app);
    using log = new CapturedLog();
    const body = JSON.stringify(await client.get("/books/1").problem(500));
    assertFalse(body.includes(SECRET), path);
    assertEquals(log.lines.length, 1);
    assertStringIncludes(log.text, path);
    assertStringIncludes(log.text, "/books/{id}");
    assertFalse(log.text.includes(SECRET), log.text);
  }
});

Deno.test("An async iterable of values is streamed as one line of JSON each", async () => {
  const app = new App();
  app.get("/", async function* () {
    yield { a: 1 };
    yield "text\nwith a break";
    yield null;
    yield 5n;
  });
  await using client = new TestClient(app);
  const response = await client.get("/");
  assertEquals([response.status, response.headers.get("content-type")], [200, "application/jsonl"]);
  assertEquals(await response.text(), '{"a":1}\n"text\\nwith a break"\nnull\n"5"\n');
});

Deno.test("An async iterable of bytes is streamed raw", async () => {
  const app = new App();
  app.get("/", { status: 202 }, async () => {
    return (async function* () {
      yield new Uint8Array([1, 2]);
      yield new Uint8Array([0xff]);
    })();
  });
  await using client = new TestClient(app);
  const response = await client.get("/");
  assertEquals([response.status, response.headers.get("content-type")], [202, "application/octet-stream"]);
  assertEquals([...await response.bytes()], [1, 2, 0xff]);
});

Deno.test("Any object with an async iterator is streamed, and an empty one is an empty reply", async () => {
  await using client = returning({
    [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
  });
  const response = await client.get("/");
  assertEquals([response.status, await response.text()], [200, ""]);
});

Deno.test("A ReadableStream and a Blob are streamed", async () => {
  await using stream = returning(new Blob(["stream"]).stream());
  const response = await stream.get("/");
  assertEquals([response.headers.get("content-type"), await response.text()], ["application/octet-stream", "stream"]);
  await using blob = returning(new Blob(["a,b"], { type: "text/csv" }));
  const other = await blob.get("/");
  assertEquals([other.headers.get("content-type"), await other.text()], ["text/csv", "a,b"]);
});

Deno.test("A stream that fails before its first value is an ordinary error reply", async () => {
  const app = new App();
  app.get("/", async function* () {
    throw new Error("early");
    // deno-lint-ignore no-unreachable
    yield 1;
  });
  await using client = new TestClient(app);
  using log = new CapturedLog();
  assertEquals((await client.get("/").problem(500)).title, "Internal Server Error");
  assertStringIncludes(log.text, "early");
});

Deno.test("A stream that fails after its first value breaks off, and is logged: it does not look complete", async () => {
  const app = new App();
  app.get("/", async function* () {
    yield 1;
    throw new Error("late");
  });
  using log = new CapturedLog();
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(response.status, 200);
  const broken = await response.text().then(() => false, () => true);
  assert(broken);
  assertStringIncludes(log.text, "late");
});

Deno.test("A stream is pulled by its reader, and cancelled when the reader leaves", async () => {
  let produced = 0;
  const ended = Promise.withResolvers<void>();
  const app = new App();
  app.get("/", async function* () {
    try {
      for (;;) yield ++produced;
    } finally {
      ended.resolve();
    }
  });
  const response = await app.fetch(new Request("http://localhost/"));
  const reader = response.body!.getReader();
  for (let index = 0; index < 5; index++) await reader.read();
  assert(produced <= 7, String(produced));
  await reader.cancel();
  await ended.promise;
});

Deno.test("HEAD ends a stream at once", async () => {
  const ended = Promise.withResolvers<void>();
  const app = new App();
  app.get("/", async function* () {
    try {
      for (;;) yield 1;
    } finally {
      ended.resolve();
    }
  });
  await using client = new TestClient(app);
  const response = await client.head("/");
  assertEquals([response.status, response.body, response.headers.get("content-type")], [
    200,
    null,
    "application/jsonl",
  ]);
  await ended.promise;
});

Deno.test("text() and html() make replies of text, with the given status and headers", async () => {
  for (const [helper, type] of [[text, "text/plain"], [html, "text/html"]] as const) {
    const plain = helper("é");
    assertEquals([plain.status, plain.headers.get("content-type")], [200, `${type};charset=UTF-8`]);
    assertEquals(await plain.text(), "é");
    const headers: [string, string][] = [["x-a", "1"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]];
    const other = helper("", { status: 404, headers });
    assertEquals([other.status, other.headers.get("x-a")], [404, "1"]);
    assertEquals(other.headers.getSetCookie(), ["a=1", "b=2"]);
    assertEquals(other.headers.get("content-type"), `${type};charset=UTF-8`);
    assertEquals(helper("", { headers: { "content-type": "text/csv" } }).headers.get("content-type"), "text/csv");
  }
});

Deno.test("redirect() sends the client elsewhere, by default with GET", () => {
  const response = redirect("/books/1?a=b#c");
  assertEquals([response.status, response.headers.get("location"), response.body], [303, "/books/1?a=b#c", null]);
  for (const status of [301, 302, 303, 307, 308]) assertEquals(redirect("/", status).status, status);
  for (const status of [200, 300, 304, 306, 400, NaN]) assertThrows(() => redirect("/", status), RangeError);
  assertEquals(redirect(new URL("http://x/é")).headers.get("location"), "http://x/%C3%A9");
});

Deno.test("The response model of a handler that streams is that of each value, so that a field that is not in it cannot leak", async () => {
  const app = new App();
  const User = v.object({ name: v.string() });
  app.get("/users", { response: User }, async function* () {
    const rows = [{ name: "Ada", password: "x" }, { name: "Grace", password: "y" }];
    yield* rows;
  });
  let hasClosed = false;
  app.get("/wrong", { response: User }, async function* () {
    try {
      yield { name: "Ada" };
      yield { name: 1 as unknown as string };
      yield { name: "Grace" };
    } finally {
      hasClosed = true;
    }
  });
  const users = await app.fetch(new Request("http://localhost/users"));
  assertEquals(await users.text(), '{"name":"Ada"}\n{"name":"Grace"}\n');
  using log = new CapturedLog();
  const wrong = await app.fetch(new Request("http://localhost/wrong"));
  await assertRejects(() => wrong.text());
  assert(hasClosed);
  assertStringIncludes(log.text, 'name\\" should be string');
});
