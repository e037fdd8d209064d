// Section 13 of the contract: numbers, booleans and null in text, integers that a number cannot
// hold, names in brackets, and cookies that are sent twice.

import { App, Events, Form, JsonLines, type Schema, SSE } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertMatch } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

const int = v.pipe(v.number(), v.integer());

/** Integers around the largest that a number holds, and whether they are taken. */
const INTEGERS: readonly [text: string, isTaken: boolean][] = [
  ["9007199254740991", true],
  ["-9007199254740991", true],
  ["9007199254740991.0", true],
  ["9007199254740992", false],
  ["9007199254740993", false],
  ["-9007199254740993", false],
  ["1e16", false],
  ["1e300", false],
  ["1234567890123456789012345678901234567890", false],
];

/** Takes integers in every way. */
function counting(): App {
  const app = new App();
  const reply = async (_request: unknown, args: unknown) => args;
  app.get("/path/{n}", { params: { n: int } }, reply);
  app.get("/query", { query: { n: int } }, reply);
  app.get("/list", { query: { n: v.array(int) } }, reply);
  app.get("/header", { headers: { n: int } }, reply);
  app.get("/cookie", { cookies: { n: int } }, reply);
  app.post("/json", { body: v.object({ n: int }) }, reply);
  app.post("/deep", { body: v.array(v.union([v.string(), v.object({ n: v.nullable(int) })])) }, reply);
  app.post("/form", { form: Form(v.object({ n: int })) }, reply);
  app.post("/part", { form: Form(v.object({ part: v.object({ n: int }) })) }, reply);
  app.post("/tool", { body: v.object({ n: int }), tool: { name: "count" } }, reply);
  return app;
}

Deno.test("An integer that a number cannot hold is 422, wherever it is sent", async () => {
  await using client = new TestClient(counting());
  const json = { "content-type": "application/json" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  for (const [text, isTaken] of INTEGERS) {
    const statuses = {
      path: (await client.get(`/path/${text}`)).status,
      query: (await client.get(`/query?n=${text}`)).status,
      list: (await client.get(`/list?n=1&n=${text}`)).status,
      header: (await client.get("/header", { headers: { n: text } })).status,
      cookie: (await client.get("/cookie", { headers: { cookie: `n=${text}` } })).status,
      json: (await client.post("/json", { body: `{"n":${text}}`, headers: json })).status,
      deep: (await client.post("/deep", { body: `["a",{"n":${text}}]`, headers: json })).status,
      form: (await client.post("/form", { body: `n=${text}`, headers: form })).status,
      part: (await client.post("/part", { body: `part={"n":${text}}`, headers: form })).status,
      tool: (await client.post("/tool", { body: `{"n":${text}}`, headers: json })).status,
    };
    assertEquals(
      new Set(Object.values(statuses)),
      new Set([isTaken ? 200 : 422]),
      `${text} ${JSON.stringify(statuses)}`,
    );
  }
});

Deno.test("A number that is no integer may be as large as a double", async () => {
  const app = new App();
  app.get("/", { query: { n: v.number() } }, async (_request, { n }) => n);
  await using client = new TestClient(app);
  assertEquals(await (await client.get("/?n=1e300")).json(), 1e300);
});

Deno.test("An integer of a reply that a number does not hold exactly is a 500", async () => {
  using _log = new CapturedLog();
  const app = new App();
  app.get("/", { query: { n: v.number() }, response: v.object({ n: int }) }, async (_request, { n }) => ({ n }));
  await using client = new TestClient(app);
  assertEquals((await client.get("/?n=9007199254740991")).status, 200);
  assertEquals((await client.get("/?n=9007199254740992")).status, 500);
});

Deno.test("The document has the bounds of integers where a schema has none of its own", () => {
  const app = new App();
  app.get("/", {
    query: {
      any: int,
      page: v.pipe(v.number(), v.integer(), v.minValue(1)),
      below: v.pipe(v.number(), v.ltValue(5), v.integer()),
      both: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(9)),
      ratio: v.number(),
      one: v.picklist([1, 2]),
      none: v.nullable(int),
    },
  }, async () => 1);
  const schemas = app.openapi().paths["/"]!.get!.parameters!.map((parameter) => {
    const { name, schema } = parameter as { name: string; schema: Record<string, unknown> };
    return [name, schema.minimum, schema.exclusiveMaximum, schema.maximum];
  });
  const [least, most] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  assertEquals(schemas, [
    ["any", least, undefined, most],
    ["page", 1, undefined, most],
    ["below", least, 5, undefined],
    ["both", 0, undefined, 9],
    ["ratio", undefined, undefined, undefined],
    ["one", undefined, undefined, undefined],
    ["none", least, undefined, most],
  ]);
});

const NUMBER = v.object({ n: v.number() });

/** Models that promise a number, with the value that they are given `n` in. */
const PROMISES: Readonly<Record<string, [model: Schema, value: (n: number) => unknown]>> = {
  "an object": [NUMBER, (n) => ({ n })],
  "a bare number": [v.number(), (n) => n],
  "an array": [v.array(v.nullable(v.number())), (n) => [1, null, n]],
  "a pipe": [v.object({ n: v.pipe(v.number(), v.minValue(-Infinity)) }), (n) => ({ n })],
  "a variant": [v.variant("k", [v.object({ k: v.literal("a"), n: v.number() })]), (n) => ({ k: "a", n })],
  "a union": [v.union([v.string(), NUMBER]), (n) => ({ n })],
  "a record": [v.record(v.string(), v.number()), (n) => ({ n })],
  "a tuple": [v.tuple([v.number()]), (n) => [n]],
  "a lazy schema": [v.lazy(() => NUMBER), (n) => ({ n })],
  "an async schema": [v.objectAsync({ n: v.pipeAsync(v.number(), v.checkAsync(async () => true)) }), (n) => ({ n })],
  "the result of a transformation": [v.pipe(NUMBER, v.transform(({ n }) => n), v.number()), (n) => ({ n })],
};

for (const [name, [model, value]] of Object.entries(PROMISES)) {
  Deno.test(`Infinity and NaN where ${name} promises a number are a 500, and logged`, async () => {
    using log = new CapturedLog();
    const app = new App();
    app.get("/", { query: { zero: v.boolean() }, response: model }, async (_request, { zero }) => value(zero ? 0 : 1));
    for (const n of [Infinity, -Infinity, NaN]) {
      app.get(`/${n}`, { response: model }, async () => value(n));
    }
    await using client = new TestClient(app);
    assertEquals((await client.get("/?zero=true")).status, 200);
    for (const n of [Infinity, -Infinity, NaN]) {
      const response = await client.get(`/${n}`);
      assertEquals([response.status, (await response.text()).includes("null")], [500, false], String(n));
      assertMatch(log.text, new RegExp(`GET /${n}: the result does not fit the response model`));
    }
  });
}

Deno.test("Lines and events do not go on with Infinity where their schema promises a number", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.get("/lines", { response: JsonLines(NUMBER) }, async function* () {
    yield { n: 1 };
    yield { n: Infinity };
  });
  app.get("/events", { response: Events(NUMBER) }, async () => SSE(ReadableStream.from([{ n: 1 }, { n: -Infinity }])));
  for (const path of ["/lines", "/events"]) {
    const response = await app.fetch(new Request(`http://localhost${path}`));
    const decoder = new TextDecoder();
    let sent = "";
    const reading = (async () => {
      for await (const chunk of response.body!) sent += decoder.decode(chunk);
    })();
    await reading.catch(() => {});
    assertEquals([sent.includes('{"n":1}'), sent.includes("null")], [true, false], sent);
  }
  assertMatch(log.text, /should be a finite number/);
});

const LIST = v.array(v.string());

Deno.test("null is null where a list or a tuple is nullable", async () => {
  const app = new App();
  const schemas = {
    list: v.nullable(LIST),
    numbers: v.nullish(v.array(v.number())),
    tuple: v.nullable(v.tuple([v.number(), v.string()])),
    piped: v.nullable(v.pipe(LIST, v.maxLength(2))),
    lazy: v.nullable(v.lazy(() => LIST)),
    filled: v.nullable(LIST, ["default"]),
    refused: v.nonNullable(v.nullable(LIST)),
    items: v.array(v.nullable(v.number())),
    plain: LIST,
  };
  for (const [name, schema] of Object.entries(schemas)) {
    app.get(`/query/${name}`, { query: { a: schema } }, async (_request, { a }) => a);
    app.get(`/header/${name}`, { headers: { a: schema } }, async (_request, { headers }) => headers.a);
    app.post(`/form/${name}`, { form: Form(v.object({ a: schema })) }, async (_request, { form }) => form.a);
  }
  await using client = new TestClient(app);
  const expected: Record<keyof typeof schemas, unknown> = {
    list: null,
    numbers: null,
    tuple: null,
    piped: null,
    lazy: null,
    filled: ["default"],
    refused: ["null"],
    items: [null],
    plain: ["null"],
  };
  for (const [name, value] of Object.entries(expected)) {
    assertEquals(await (await client.get(`/query/${name}?a=null`)).json(), value, `query ${name}`);
    assertEquals(
      await (await client.get(`/header/${name}`, { headers: { a: "null" } })).json(),
      value,
      `header ${name}`,
    );
    const body = new URLSearchParams({ a: "null" });
    assertEquals(await (await client.post(`/form/${name}`, { body })).json(), value, `form ${name}`);
  }
  assertEquals(await (await client.get("/query/list?a=null&a=null")).json(), ["null", "null"]);
  assertEquals(await (await client.get("/query/list?a=x")).json(), ["x"]);
});

Deno.test("Forms take what the controls of HTML send; other text does not", async () => {
  const app = new App();
  const schemas = {
    agreed: v.optional(v.boolean(), false),
    must: v.optional(v.literal(true)),
    price: v.optional(v.number()),
    count: v.optional(int),
  };
  app.post("/form", { form: Form(v.object(schemas)) }, async (_request, { form }) => form);
  app.get("/query", { query: schemas }, async (_request, args) => args);
  await using client = new TestClient(app);
  const table: [text: string, form: unknown, query: unknown][] = [
    ["agreed=on", { agreed: true }, 422],
    ["agreed=true", { agreed: true }, { agreed: true }],
    ["", { agreed: false }, { agreed: false }],
    ["must=on", { agreed: false, must: true }, 422],
    ["agreed=off", 422, 422],
    ["agreed=ON", 422, 422],
    ["price=.5", { agreed: false, price: 0.5 }, 422],
    ["price=-.5e-1", { agreed: false, price: -0.05 }, 422],
    ["price=007", { agreed: false, price: 7 }, 422],
    ["count=007", { agreed: false, count: 7 }, 422],
    ["count=5.0", { agreed: false, count: 5 }, { agreed: false, count: 5 }],
    ["price=", { agreed: false }, 422],
    ["price=%2B5", 422, 422],
    ["price=5.", 422, 422],
    ["price=0x10", 422, 422],
    ["price=1e999", 422, 422],
    ["price=%201", 422, 422],
    ["price=NaN", 422, 422],
  ];
  for (const [text, form, query] of table) {
    const posted = await client.post("/form", { body: new URLSearchParams(text) });
    assertEquals(posted.status === 200 ? await posted.json() : posted.status, form, `form ${text}`);
    const asked = await client.get(`/query?${text}`);
    assertEquals(asked.status === 200 ? await asked.json() : asked.status, query, `query ${text}`);
  }
});

Deno.test("Names whose brackets cannot be read are a 422 that names each once, beside the other faults", async () => {
  const app = new App();
  const row = v.object({ id: v.number() });
  app.post("/", { form: Form(v.object({ rows: v.optional(v.array(row), []), n: v.number() })) }, async () => 1);
  await using client = new TestClient(app);
  for (const name of ["rows[][id]", "rows[", "rows]", "[rows]", "rows[0]id", "rows[[0]]", "rows[0][]x", "rows[0]["]) {
    const body = new URLSearchParams([["n", "x"], [name, "1"], [name, "2"]]);
    const { errors } = await (await client.post("/", { body })).json() as { errors: { in: string; path: string[] }[] };
    assertEquals(errors.map((issue) => [issue.in, ...issue.path]), [["form", name], ["form", "n"]], name);
  }
  const readable = new URLSearchParams([["n", "1"], ["rows[0][id]", "1"], ["rows[1][id]", "2"], ["other", "x"]]);
  assertEquals((await client.post("/", { body: readable })).status, 200);
});

Deno.test("Of two cookies of one name the first counts, which has the most specific path", async () => {
  const app = new App();
  app.get("/", { cookies: { theme: v.string() } }, async (request, { cookies }) => [cookies.theme, request.cookies]);
  await using client = new TestClient(app);
  const cookie = "theme=admin; a=1; theme=site; theme =old; __proto__=x; __proto__=y";
  assertEquals(
    await (await client.get("/", { headers: { cookie } })).text(),
    '["admin",{"theme":"admin","a":"1","__proto__":"x"}]',
  );
});

Deno.test("A literal % of a path is written %25, also in prefixes and mounts", async () => {
  const app = new App();
  app.get("/sale/100%25/{id}", async (request, { id }) => [request.route?.path, id]);
  app.mount("/half%25", async (request) => new Response(new URL(request.url).pathname));
  await using client = new TestClient(app);
  assertEquals(await (await client.get("/sale/100%25/a%25b")).json(), ["/sale/100%25/{id}", "a%b"]);
  assertEquals(await (await client.get("/half%25/x%25")).text(), "/x%25");
  assertEquals((await client.get("/sale/100%2525/1")).status, 404);
  assertEquals(Object.keys(app.openapi().paths), ["/sale/100%25/{id}"]);
});
