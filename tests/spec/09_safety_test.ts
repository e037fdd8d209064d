// Section 9 of the contract: the safe defaults of a service, and what no reply or log may reveal.

import { assert, assertEquals, assertFalse } from "@std/assert";
import { App, dependency, file, html, HTTPError, redirect, text } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

/** An application with a route for each kind of reply that the framework makes. */
function replying(): App {
  const app = new App();
  app.get("/json", async () => ({}));
  app.get("/made", { status: 201 }, async () => 1);
  app.get("/big", async () => 5n);
  app.get("/nothing", async () => undefined);
  app.get("/lines", async function* () {
    yield 1;
  });
  app.get("/text", async () => text("x"));
  app.get("/html", async () => html("x", { status: 201, headers: { "x-a": "1" } }));
  app.get("/redirect", async () => redirect("/"));
  app.get("/own", async () => new Response("x"));
  app.get("/error", async () => {
    throw new HTTPError(409);
  });
  app.get("/boom", async () => {
    throw new Error("boom");
  });
  app.get("/invalid", { query: { q: v.number() } }, async () => 1);
  return app;
}

Deno.test("Files, blobs, streams of bytes and the page carry X-Content-Type-Options: nosniff", async () => {
  const app = new App();
  app.get("/bytes", async function* () {
    yield new Uint8Array(1);
  });
  app.get("/stream", async () => new Blob(["x"]).stream());
  app.get("/blob", async () => new Blob(["x"]));
  app.get("/file", async () => await file(import.meta.filename!));
  await using client = new TestClient(app);
  for (const path of ["/bytes", "/stream", "/blob", "/file", "/docs"]) {
    for (const reply of [client.get(path), client.head(path)]) {
      assertEquals((await reply).headers.get("x-content-type-options"), "nosniff", path);
    }
  }
});

Deno.test("JSON, text and HTML do not carry it: browsers do not sniff them, and it costs throughput", async () => {
  const app = replying();
  await using client = new TestClient(app);
  using _log = new CapturedLog();
  for (const path of [...app.routes.map(({ path }) => path), "/missing", "/%ff"]) {
    const response = await client.get(path);
    assertFalse(response.headers.has("x-content-type-options"), path);
  }
});

Deno.test("A reply of JSON or text has no header but its content type", async () => {
  await using client = new TestClient(replying());
  for (const path of ["/json", "/made", "/big", "/text"]) {
    assertEquals([...(await client.get(path)).headers.keys()], ["content-type"], path);
  }
});

const MARKER = "MARKER7f3a";

/** Values that contain the marker, of every shape that a client can send. */
const MARKED: readonly unknown[] = [
  MARKER,
  `${MARKER}@`,
  `5${MARKER}`,
  [MARKER],
  [[MARKER], { a: MARKER }],
  { a: MARKER },
  { a: { a: MARKER }, b: [MARKER], title: MARKER, kind: MARKER },
  { kind: "a", n: MARKER },
  { a: 1, b: { title: [MARKER] } },
];

/** Schemas of every kind that refuse a marked value. */
const SCHEMAS: Record<string, v.GenericSchema | v.GenericSchemaAsync> = {
  number: v.number(),
  integer: v.pipe(v.number(), v.integer(), v.minValue(1)),
  bigint: v.bigint(),
  boolean: v.boolean(),
  literal: v.literal("a"),
  picklist: v.picklist(["a", "b"]),
  enum: v.enum({ A: "a", B: 1 }),
  null: v.null(),
  never: v.never(),
  union: v.union([v.number(), v.boolean(), v.literal("x")]),
  intersection: v.intersect([v.number(), v.pipe(v.number(), v.minValue(5))]),
  nullable: v.nullable(v.number()),
  optional: v.optional(v.number()),
  nonOptional: v.nonOptional(v.optional(v.number())),
  email: v.pipe(v.string(), v.email()),
  regex: v.pipe(v.string(), v.regex(/^\d+$/)),
  length: v.pipe(v.string(), v.maxLength(2)),
  exactLength: v.pipe(v.string(), v.length(99)),
  url: v.pipe(v.string(), v.url()),
  uuid: v.pipe(v.string(), v.uuid()),
  isoDate: v.pipe(v.string(), v.isoDate()),
  startsWith: v.pipe(v.string(), v.startsWith("zz")),
  includes: v.pipe(v.string(), v.includes("zz")),
  excludes: v.pipe(v.string(), v.excludes("M")),
  value: v.pipe(v.string(), v.value("zz")),
  values: v.pipe(v.string(), v.values(["y", "z"])),
  notValues: v.pipe(v.string(), v.transform(() => "y"), v.notValues(["x", "y"])),
  digits: v.pipe(v.string(), v.digits()),
  toNumber: v.pipe(v.string(), v.toNumber()),
  toDate: v.pipe(v.string(), v.toDate()),
  toBigint: v.pipe(v.string(), v.toBigint()),
  parseJson: v.pipe(v.string(), v.parseJson()),
  check: v.pipe(v.string(), v.check(() => false)),
  rawCheck: v.pipe(v.string(), v.rawCheck(({ addIssue }) => addIssue({ message: "Wrong" }))),
  lazy: v.lazy(() => v.number()),
  async: v.pipeAsync(v.string(), v.checkAsync(async () => false)),
};

const BODY_SCHEMAS: Record<string, v.GenericSchema | v.GenericSchemaAsync> = {
  ...SCHEMAS,
  object: v.object({ a: v.number(), b: v.object({ title: v.number() }) }),
  strict: v.strictObject({ z: v.number() }),
  rest: v.objectWithRest({ z: v.number() }, v.number()),
  array: v.array(v.number()),
  tuple: v.strictTuple([v.number(), v.number(), v.number()]),
  record: v.record(v.string(), v.number()),
  recordKeys: v.record(v.picklist(["k"]), v.number()),
  variant: v.variant("kind", [v.object({ kind: v.literal("a"), n: v.number() }), v.object({ kind: v.literal("b") })]),
  someItem: v.pipe(v.array(v.any()), v.someItem(() => false)),
  everyItem: v.pipe(v.array(v.any()), v.everyItem(() => false)),
  entries: v.pipe(v.record(v.string(), v.any()), v.maxEntries(0)),
  partialCheck: v.pipe(v.object({ a: v.any() }), v.partialCheck([["a"]], () => false)),
  forward: v.pipe(v.object({ a: v.any() }), v.forward(v.check(() => false), ["a"])),
};

for (const [name, schema] of Object.entries(SCHEMAS)) {
  Deno.test(`A 422 for text never echoes the value that was sent, and nothing of it is logged: ${name}`, async () => {
    const app = new App();
    app.get("/path/{x}", { params: { x: schema } }, async () => 1);
    app.get("/query", { query: { x: schema } }, async () => 1);
    app.get("/list", { query: { x: v.arrayAsync(schema) } }, async () => 1);
    app.get("/header", { headers: { x: schema } }, async () => 1);
    app.get("/cookie", { cookies: { x: schema } }, async () => 1);
    await using client = new TestClient(app);
    using log = new CapturedLog();
    for (const text of MARKED.filter((value) => typeof value === "string")) {
      for (
        const reply of [
          client.get(`/path/${encodeURIComponent(text)}`),
          client.get("/query", { query: { x: text } }),
          client.get("/query", { query: { x: [text, text] } }),
          client.get("/list", { query: { x: ["a", text] } }),
          client.get("/header", { headers: { x: text } }),
          client.get("/cookie", { cookies: { x: text } }),
        ]
      ) {
        const response = await reply;
        const body = await response.text();
        assertEquals(response.status, 422, body);
        assertFalse(body.includes(MARKER), body);
      }
    }
    assertEquals(log.text, "");
  });
}

for (const [name, schema] of Object.entries(BODY_SCHEMAS)) {
  Deno.test(`A 422 for a body never echoes the value that was sent, and nothing of it is logged: ${name}`, async () => {
    const app = new App();
    app.post("/", { body: schema }, async () => 1);
    app.post("/deep", { body: v.objectAsync({ list: v.arrayAsync(schema) }) }, async () => 1);
    await using client = new TestClient(app);
    using log = new CapturedLog();
    let refused = 0;
    for (const value of MARKED) {
      for (const reply of [client.post("/", { json: value }), client.post("/deep", { json: { list: [value] } })]) {
        const response = await reply;
        const body = await response.text();
        assert(response.status === 422 || response.status === 200, body);
        assertFalse(body.includes(MARKER), body);
        if (response.status === 422) refused++;
      }
    }
    assert(refused > 0);
    assertEquals(log.text, "");
  });
}

Deno.test("No client error is logged with anything that was sent", async () => {
  const app = new App({ limits: { body: 100 } });
  app.post("/x/{n}", {
    params: { n: v.number() },
    query: { q: v.number() },
    headers: { "x-n": v.number() },
    cookies: { c: v.number() },
    body: v.number(),
  }, async () => 1);
  await using client = new TestClient(app);
  using log = new CapturedLog();
  const json = { "content-type": "application/json" };
  const statuses = [
    await client.post(`/x/${MARKER}?q=${MARKER}`, { headers: { "x-n": MARKER }, cookies: { c: MARKER }, json: MARKER }),
    await client.post("/x/1", { body: MARKER, headers: json }),
    await client.post("/x/1", { body: MARKER }),
    await client.post("/x/1", { body: JSON.stringify(MARKER.repeat(50)), headers: json }),
    await client.get(`/${MARKER}`),
    await client.get(`/x/${MARKER}`),
    await client.get(`/%ff${MARKER}`),
  ].map(({ status }) => status);
  assertEquals(statuses, [422, 400, 415, 413, 404, 405, 400]);
  assertEquals(log.text, "");
});

Deno.test("A log entry is one line, whatever the text", async () => {
  const breaks = "a\nb\rc\r\nd\u0085e\u2028f\u2029g\x1b[31mh\0i\x7fj\x9bk";
  const app = new App();
  app.get("/{x}", async () => {
    throw new Error(`2026-01-01T00:00:00Z INFO forged ${breaks}`, { cause: new Error(breaks) });
  });
  const broken = dependency(async function* () {
    yield 1;
    throw breaks;
  });
  app.get("/cleanup/x", { deps: { broken } }, async () => 1);
  await using client = new TestClient(app);
  using log = new CapturedLog();
  await client.get(`/${encodeURIComponent(breaks)}`);
  await client.get("/cleanup/x");
  assertEquals(log.lines.length, 2);
  for (const line of log.lines) {
    // deno-lint-ignore no-control-regex
    assertFalse(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/.test(line), JSON.stringify(line));
  }
});

Deno.test("Nothing that a client sends pollutes a prototype", async () => {
  const app = new App();
  app.post("/{__x}", {
    query: { a: v.optional(v.any()), constructor: v.optional(v.any()) },
    headers: { constructor: v.optional(v.string()) },
    cookies: { constructor: v.optional(v.string()), toString: v.optional(v.string()) },
    body: v.looseObject({ a: v.optional(v.looseObject({})) }),
  }, async (request, args) => {
    Object.assign({}, args.body, args.headers, args.cookies, request.params, request.cookies);
    return structuredClone(args.body);
  });
  await using client = new TestClient(app);
  const pollution = '{"polluted":"yes","prototype":{"polluted":"yes"}}';
  for (const key of ["__proto__", "constructor", "prototype", "__defineGetter__"]) {
    await client.post(`/${key}?${key}[polluted]=yes&${key}.polluted=yes&${key}=yes&a[${key}]=yes`, {
      headers: { "content-type": "application/json", cookie: `${key}=yes; a=b` },
      body: `{"${key}":${pollution},"a":{"${key}":${pollution}}}`,
    });
  }
  for (const holder of [{}, [], () => {}, "", 0, new Headers(), new Map()]) {
    assertEquals((holder as unknown as Record<string, unknown>).polluted, undefined);
  }
  for (const prototype of [Object.prototype, Array.prototype, Function.prototype]) {
    assertFalse(Object.keys(prototype).includes("polluted"));
  }
});
