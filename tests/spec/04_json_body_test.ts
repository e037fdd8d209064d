// Section 4 of the contract: the JSON body, and the replies to other bodies.

import { assert, assertEquals, assertFalse } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient, type TestReply } from "@webfw/core/testing";
import * as v from "valibot";

const JSON_TYPE = { "content-type": "application/json" };

/** An app with one route that gives its body back. */
function echoing(body: v.GenericSchema | v.GenericSchemaAsync): TestClient {
  const app = new App();
  app.post("/", { body }, async (_request, args) => ({ body: args.body }));
  return new TestClient(app);
}

function send(client: TestClient, body: BodyInit, headers: HeadersInit = JSON_TYPE): TestReply {
  return client.post("/", { body, headers });
}

Deno.test("The body is validated as JSON, and undeclared keys are left out", async () => {
  await using client = echoing(v.object({ title: v.string(), author: v.object({ name: v.string() }) }));
  const sent = { title: "Emma", extra: 1, author: { name: "Jane", admin: true } };
  assertEquals(await client.post("/", { json: sent }).json<unknown>(), {
    body: { title: "Emma", author: { name: "Jane" } },
  });
});

Deno.test("Any JSON value can be a body", async () => {
  await using client = echoing(v.any());
  for (const value of [null, true, false, 0, -1.5, "", "x", [], [1, [2]], {}, { a: { b: null } }]) {
    assertEquals(await client.post("/", { json: value }).json<unknown>(), { body: value });
  }
});

Deno.test("Every verb that has a body takes one", async () => {
  const app = new App();
  const body = v.object({ n: v.number() });
  app.post("/", { body }, async (_request, { body }) => body.n);
  app.put("/", { body }, async (_request, { body }) => body.n);
  app.patch("/", { body }, async (_request, { body }) => body.n);
  app.delete("/", { body }, async (_request, { body }) => body.n);
  app.route("/", { methods: ["QUERY"], body }, async (_request, { body }) => body.n);
  await using client = new TestClient(app);
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "QUERY"]) {
    assertEquals(await client.request(method, "/", { json: { n: 1 } }).json(), 1, method);
  }
});

Deno.test("Every issue of a body is found, each with the path from the body's root", async () => {
  await using client = echoing(v.object({
    title: v.string(),
    pages: v.pipe(v.number(), v.integer(), v.minValue(1)),
    authors: v.array(v.object({ name: v.string() })),
    size: v.optional(v.tuple([v.number(), v.number()])),
  }));
  const json = { pages: 0.5, authors: [{ name: "a" }, {}, { name: 1 }], size: [1, "2"] };
  const { errors } = await client.post("/", { json }).problem(422);
  assertEquals(errors.map((issue) => [issue.in, ...issue.path]), [
    ["body", "title"],
    ["body", "pages"],
    ["body", "pages"],
    ["body", "authors", 1, "name"],
    ["body", "authors", 2, "name"],
    ["body", "size", 1],
  ]);
});

Deno.test("A body of another kind is 422 with an empty path", async () => {
  await using client = echoing(v.object({ a: v.string() }));
  for (const value of [null, 1, "x", true, []]) {
    const { errors } = await client.post("/", { json: value }).problem(422);
    assertEquals(errors.map((issue) => [issue.in, issue.path]), [["body", []]], JSON.stringify(value));
  }
});

Deno.test("Unparsable JSON is 400", async () => {
  await using client = echoing(v.any());
  const texts = [
    "{",
    "}",
    '{"a":1',
    '{"a":1,}',
    "[1,]",
    "[1 2]",
    "{a:1}",
    "{'a':1}",
    "undefined",
    "NaN",
    "Infinity",
    "-",
    "+1",
    "01",
    ".5",
    "1.",
    "0x1",
    "1n",
    '"',
    '"\u0001"',
    '"\\x41"',
    '"\\u12"',
    "tru",
    "nul",
    "[1]]",
    "{}{}",
    "// x\n1",
    "a=1&b=2",
    " ",
    "\n",
    "\u0000",
    "[1]\u0000",
    "<xml/>",
  ];
  for (const text of texts) assertEquals((await send(client, text)).status, 400, JSON.stringify(text));
});

Deno.test("The reply to unparsable JSON does not repeat the body", async () => {
  await using client = echoing(v.any());
  for (const text of ["MARKER", '{"a": MARKER}', '"MARKER', "[MARKER]"]) {
    const problem = await send(client, text).problem(400);
    assertFalse(JSON.stringify(problem).includes("MARKER"), text);
  }
});

Deno.test("A required body that is missing is 422", async () => {
  await using client = echoing(v.object({ a: v.string() }));
  const missing: Record<string, TestReply> = {
    "no body": client.post("/"),
    "no body, JSON": client.post("/", { headers: JSON_TYPE }),
    "no body, content length 0": client.post("/", { headers: { "content-length": "0" } }),
    "empty, JSON": send(client, ""),
    "empty, content length 0": send(client, "", { ...JSON_TYPE, "content-length": "0" }),
    "empty bytes, JSON": send(client, new Uint8Array()),
  };
  for (const [name, reply] of Object.entries(missing)) {
    const { errors } = await reply.problem(422);
    assertEquals(errors.map((issue) => [issue.in, issue.path]), [["body", []]], name);
  }
});

Deno.test("An optional body may be missing", async () => {
  const app = new App();
  app.post("/", { body: v.optional(v.object({ a: v.string() })) }, async (_request, { body }) => [body === undefined]);
  app.post("/default", { body: v.optional(v.number(), 5) }, async (_request, { body }) => body);
  await using client = new TestClient(app);
  assertEquals(await client.post("/").json(), [true]);
  assertEquals(await send(client, "").json(), [true]);
  assertEquals(await client.post("/", { json: { a: "x" } }).json(), [false]);
  assertEquals(await client.post("/default").json(), 5);
  assertEquals((await client.post("/", { json: {} })).status, 422);
});

Deno.test("A wrong content type is 415", async () => {
  await using client = echoing(v.any());
  const types = [
    "text/plain",
    "text/plain;charset=UTF-8",
    "text/json",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/octet-stream",
    "application/jsonp",
    "application/json5",
    "application/jsonl",
    "application/x-json",
    "application/",
    "/json",
    "json",
    "+json",
    "application/json, text/plain",
    "image/svg+xml",
    "*/*",
    "application/json; charset=iso-8859-1",
    "application/json; charset=utf-16",
    "application/json;charset=latin1",
    "application/problem+json; charset=ascii",
  ];
  for (const type of types) {
    assertEquals((await send(client, "{}", { "content-type": type })).status, 415, type);
  }
});

Deno.test("A body without a content type is 415", async () => {
  const app = new App();
  app.post("/", { body: v.any() }, async () => 1);
  const request = new Request("http://localhost/", { method: "POST", body: new Uint8Array([0x7b, 0x7d]) });
  assertFalse(request.headers.has("content-type"));
  const response = await app.fetch(request);
  assertEquals(response.status, 415);
  await response.body?.cancel();
});

Deno.test("JSON's content types are taken, with or without the charset UTF-8", async () => {
  await using client = echoing(v.any());
  const types = [
    "application/json",
    "Application/JSON",
    "application/json;charset=utf-8",
    "application/json; charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json ; profile=x",
    "application/json;",
    "application/problem+json",
    "application/merge-patch+json",
    "application/vnd.api.v1+json; charset=utf-8",
  ];
  for (const type of types) {
    assertEquals((await send(client, "{}", { "content-type": type })).status, 200, type);
  }
});

Deno.test("A JSON array for an object schema is refused, also where every key is optional", async () => {
  const text = v.string();
  const table: Record<string, v.GenericSchema | v.GenericSchemaAsync> = {
    object: v.object({ a: text }),
    "object without keys": v.object({}),
    "optional keys": v.object({ a: v.optional(text), b: v.nullish(text), c: v.exactOptional(text) }),
    "keys with defaults": v.object({ a: v.optional(text, "x") }),
    "keys with fallbacks": v.object({ a: v.fallback(text, "x") }),
    "a key that arrays have": v.object({ length: v.number() }),
    partial: v.partial(v.object({ a: text })),
    loose: v.looseObject({}),
    strict: v.strictObject({ a: v.optional(text) }),
    "with rest": v.objectWithRest({ a: v.optional(text) }, v.any()),
    record: v.record(text, v.any()),
    "in a pipe": v.pipe(v.object({ a: v.optional(text) }), v.check(() => true)),
    lazy: v.lazy(() => v.object({ a: v.optional(text) })),
    intersection: v.intersect([v.object({ a: v.optional(text) }), v.object({})]),
    union: v.union([v.object({ a: v.optional(text) }), v.null()]),
    nullable: v.nullable(v.object({})),
    async: v.objectAsync({ a: v.optionalAsync(text) }),
    "async loose": v.looseObjectAsync({}),
    "async record": v.recordAsync(text, v.any()),
  };
  for (const [name, schema] of Object.entries(table)) {
    await using client = echoing(schema);
    for (const array of [[], [1, 2], [[]], [{ a: "x" }]]) {
      assertEquals((await client.post("/", { json: array })).status, 422, `${name} ${JSON.stringify(array)}`);
    }
    await using nested = echoing(v.objectAsync({ in: schema }));
    assertEquals((await nested.post("/", { json: { in: [] } })).status, 422, `nested ${name}`);
  }
});

Deno.test("An object for an array schema is refused", async () => {
  for (const schema of [v.array(v.any()), v.tuple([]), v.looseTuple([]), v.strictTuple([])]) {
    await using client = echoing(schema);
    for (const object of [{}, { length: 0 }, { 0: "x", length: 1 }]) {
      assertEquals((await client.post("/", { json: object })).status, 422, schema.type);
    }
  }
});

Deno.test("A bigint in JSON is a string of digits, both ways", async () => {
  await using client = echoing(v.object({ n: v.bigint(), list: v.optional(v.array(v.nullable(v.bigint()))) }));
  const digits = "9".repeat(100);
  assertEquals(await client.post("/", { json: { n: digits, list: ["0", "-1", null] } }).json<unknown>(), {
    body: { n: digits, list: ["0", "-1", null] },
  });
  for (const value of [5, "5.0", "05", "+5", " 5", "0x5", "1e3", "", "x", true, null, ["5"]]) {
    const { errors } = await client.post("/", { json: { n: value } }).problem(422);
    assertEquals(errors[0]!.path, ["n"], JSON.stringify(value));
  }
});

Deno.test("Text conversions do not leak into JSON: numbers and booleans have to be numbers and booleans", async () => {
  await using client = echoing(v.object({ n: v.optional(v.number()), b: v.optional(v.boolean()) }));
  for (const value of ["1", "", true, null, [1]]) {
    assertEquals((await client.post("/", { json: { n: value } })).status, 422, JSON.stringify(value));
  }
  for (const value of ["true", 1, 0, null]) {
    assertEquals((await client.post("/", { json: { b: value } })).status, 422, JSON.stringify(value));
  }
});

Deno.test("A number that does not fit a double is 422, anywhere in the body", async () => {
  await using client = echoing(v.union([v.number(), v.array(v.any()), v.object({})]));
  const bodies: [text: string, path: (string | number)[]][] = [
    ["1e999", []],
    [`[0,{"a":-1E+400}]`, [1, "a"]],
    [`{"n":1${"0".repeat(309)}.0}`, ["n"]],
    [`[1e0000000309]`, [0]],
  ];
  for (const [text, path] of bodies) {
    const reply = await send(client, text);
    assertEquals(reply.status, 422);
    assertEquals((await reply.json()).errors, [{
      in: "body",
      path,
      code: "invalid",
      message: "Invalid number: too large",
      expected: "a finite number",
    }]);
  }
});

Deno.test("Async schemas validate bodies, too", async () => {
  const taken = new Set(["ada"]);
  await using client = echoing(v.objectAsync({
    name: v.pipeAsync(v.string(), v.checkAsync(async (name) => !taken.has(name), "Taken")),
    id: v.optionalAsync(v.bigint()),
  }));
  assertEquals(await client.post("/", { json: { name: "bob", id: "5" } }).json<unknown>(), {
    body: { name: "bob", id: "5" },
  });
  const { errors } = await client.post("/", { json: { name: "ada" } }).problem(422);
  assertEquals(errors.map(({ path, message }) => [path, message]), [[["name"], "Taken"]]);
});

Deno.test("Keys named as members of objects never reach a prototype", async () => {
  const bodies = [
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"a":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}',
    '[{"__proto__":{"polluted":1}}]',
    '{"prototype":{"polluted":1},"toString":1,"valueOf":2,"hasOwnProperty":3}',
  ];
  const schemas: Record<string, v.GenericSchema> = {
    any: v.any(),
    record: v.record(v.string(), v.any()),
    loose: v.looseObject({ a: v.optional(v.looseObject({})) }),
    rest: v.objectWithRest({}, v.any()),
    object: v.object({ a: v.optional(v.object({ polluted: v.optional(v.any()) })) }),
  };
  for (const [name, schema] of Object.entries(schemas)) {
    for (const body of bodies) {
      const app = new App();
      app.post("/", { body: schema }, async (_request, args) => {
        const bound = args.body as Record<string, unknown>;
        assertEquals(({} as Record<string, unknown>).polluted, undefined);
        if (!Array.isArray(bound)) {
          assertEquals(Object.getPrototypeOf(bound), Object.prototype, `${name} ${body}`);
          assertEquals(bound.polluted, undefined);
        }
        return 1;
      });
      await using client = new TestClient(app);
      const { status } = await send(client, body);
      assert(status === 200 || status === 422, `${name} ${body} ${status}`);
    }
  }
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("A key of a schema is not read from the prototype of the body", async () => {
  await using client = echoing(v.object({
    constructor: v.optional(v.string()),
    toString: v.optional(v.string(), "default"),
    valueOf: v.exactOptional(v.number()),
  }));
  assertEquals(await client.post("/", { json: {} }).json<unknown>(), { body: { toString: "default" } });
  assertEquals(await client.post("/", { json: { constructor: "x" } }).json<unknown>(), {
    body: { constructor: "x", toString: "default" },
  });
  await using required = echoing(v.object({ constructor: v.any() }));
  assertEquals((await required.post("/", { json: {} })).status, 422);
});

Deno.test("A byte order mark in front of JSON does no harm", async () => {
  await using client = echoing(v.any());
  assertEquals((await send(client, new Uint8Array([0xef, 0xbb, 0xbf, 0x31]))).status, 200);
});

Deno.test("Escapes of lone surrogates are accepted, and sent back as escapes", async () => {
  await using client = echoing(v.string());
  const response = await send(client, '"a\\ud800b"');
  assertEquals([response.status, await response.text()], [200, '{"body":"a\\ud800b"}']);
});

Deno.test("Deep nesting is answered, never with a server error", async () => {
  const Tree: v.GenericSchema<unknown> = v.array(v.lazy(() => Tree));
  const Node: v.GenericSchema<unknown> = v.object({ a: v.optional(v.lazy(() => Node)) });
  const Either: v.GenericSchema<unknown> = v.union([v.number(), v.array(v.lazy(() => Either))]);
  const app = new App();
  app.post("/any", { body: v.any() }, async () => 1);
  app.post("/tree", { body: Tree }, async () => 1);
  app.post("/node", { body: Node }, async () => 1);
  app.post("/either", { body: Either }, async () => 1);
  app.post("/async", { body: v.objectAsync({ a: v.optionalAsync(Node) }) }, async () => 1);
  app.post("/raw", async (request) => typeof await request.json());
  await using client = new TestClient(app);
  const depth = 170_000;
  const arrays = "[".repeat(depth) + "]".repeat(depth);
  const objects = '{"a":'.repeat(depth) + "{}" + "}".repeat(depth);
  for (
    const [path, body] of [["any", arrays], ["tree", arrays], ["either", arrays], ["raw", arrays], ["node", objects], [
      "async",
      objects,
    ]]
  ) {
    const { status } = await client.post(`/${path}`, { body: body!, headers: JSON_TYPE });
    assert(status === 200 || (status >= 400 && status < 500), `${path} ${status}`);
  }
});
