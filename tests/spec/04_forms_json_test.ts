// Section 13 of the contract: "an object or a list of objects may come as JSON text; in brackets,
// too".

import { assert, assertEquals } from "@std/assert";
import { App, Form, UploadFile } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

const URLENCODED = { "content-type": "application/x-www-form-urlencoded" };
const MULTIPART = { "content-type": "multipart/form-data; boundary=B" };

const Line = v.object({ isbn: v.string(), copies: v.optional(v.number(), 1) });
const Order = v.object({
  address: v.optional(
    v.object({ city: v.string(), zip: v.nullish(v.number()), geo: v.optional(v.tuple([v.number(), v.number()])) }),
  ),
  lines: v.optional(v.array(Line), []),
  tags: v.optional(v.array(v.string())),
  note: v.optional(v.string()),
});

function echoing(schema: v.GenericSchema, limits = {}): TestClient {
  const app = new App({ limits });
  app.post("/", { form: Form(schema) }, async (_request, { form }) => form);
  return new TestClient(app);
}

type Fields = readonly (readonly [name: string, text: string])[];

/**
 * The same fields as an urlencoded body, and with all the kinds of parts that clients make of JSON.
 */
function bodiesOf(json: Fields, texts: Fields = []): { name: string; body: BodyInit; headers: HeadersInit }[] {
  const part = ([name, text]: Fields[number], head: string) =>
    `--B\r\nContent-Disposition: form-data; name="${name}"${head}\r\n\r\n${text}\r\n`;
  const multipart = (head: string) => ({
    body: `${json.map((field) => part(field, head)).join("")}${
      texts.map((field) => part(field, "")).join("")
    }--B--\r\n`,
    headers: MULTIPART,
  });
  return [
    {
      name: "urlencoded",
      body: new URLSearchParams([...json, ...texts].map(([...field]) => field)),
      headers: URLENCODED,
    },
    { name: "texts", ...multipart("") },
    { name: "typed texts", ...multipart("\r\nContent-Type: application/json") },
    { name: "blobs", ...multipart('; filename="blob"\r\nContent-Type: application/json; charset=utf-8') },
    { name: "files", ...multipart('; filename="a.json"\r\nContent-Type: application/vnd.x+json') },
  ];
}

const address = { city: "Grüße & Co", zip: null, geo: [1.5, -2] };
const lines = [{ isbn: "1", copies: 2 }, { isbn: "=&[]" }];
const expected = {
  address,
  lines: [{ isbn: "1", copies: 2 }, { isbn: "=&[]", copies: 1 }],
  tags: ['{"a":1}', '["b"]'],
  note: "[1]",
};
const texts: Fields = [["tags", '{"a":1}'], ["tags", '["b"]'], ["note", "[1]"]];

Deno.test("An object and a list of objects are taken as JSON text, however clients send it, and texts stay texts", async () => {
  await using client = echoing(Order);
  const whole = ["address", JSON.stringify(address, null, 2)] as const;
  const ways: Fields[] = [
    [whole, ["lines", JSON.stringify(lines)]],
    [whole, ...lines.map((line) => ["lines", JSON.stringify(line)] as const)],
    [whole, ...lines.map((line) => ["lines[]", JSON.stringify(line)] as const)],
    [whole, ...lines.map((line, index) => [`lines[${index}]`, JSON.stringify(line)] as const)],
  ];
  for (const way of ways) {
    for (const { name, body, headers } of bodiesOf(way, texts)) {
      assertEquals(await client.post("/", { body, headers }).json<unknown>(), expected, name);
    }
  }
});

Deno.test("JSON works below names in brackets, and for options, variants and records", async () => {
  const Pet = v.variant("kind", [
    v.object({ kind: v.literal("cat"), lives: v.number() }),
    v.object({ kind: v.literal("dog"), name: v.string() }),
  ]);
  await using client = echoing(v.object({
    order: v.optional(v.object({ lines: v.array(Line), by: v.nullable(v.object({ name: v.string() })) })),
    pet: v.optional(v.nullable(Pet)),
    pets: v.optional(v.array(v.nullable(Pet))),
    scores: v.optional(v.record(v.string(), v.bigint())),
    either: v.optional(v.union([v.object({ a: v.number() }), v.object({ b: v.number() })])),
    both: v.optional(v.intersect([v.object({ a: v.number() }), v.object({ b: v.number() })])),
    pair: v.optional(v.tuple([v.object({ a: v.number() }), v.object({ b: v.number() })])),
    piped: v.optional(v.pipe(v.object({ a: v.number() }), v.transform(({ a }) => a + 1))),
    mixed: v.optional(v.union([v.object({ a: v.number() }), v.string()])),
  }));
  const cases: [text: string, form: unknown][] = [
    ['order[lines]=[{"isbn":"1"}]&order[by]=null', { order: { lines: [{ isbn: "1", copies: 1 }], by: null } }],
    ['order[lines][0]={"isbn":"1"}&order[by]={"name":"a"}', {
      order: { lines: [{ isbn: "1", copies: 1 }], by: { name: "a" } },
    }],
    ['order={"lines":[],"by":null}', { order: { lines: [], by: null } }],
    ['pet={"kind":"cat","lives":9}', { pet: { kind: "cat", lives: 9 } }],
    ["pet=null", { pet: null }],
    ['pets=[{"kind":"dog","name":"x"},null]', { pets: [{ kind: "dog", name: "x" }, null] }],
    ['pets={"kind":"dog","name":"x"}&pets=null', { pets: [{ kind: "dog", name: "x" }, null] }],
    ["pets=[]", { pets: [] }],
    ['scores={"a":"12345678901234567890"}', { scores: { a: "12345678901234567890" } }],
    ['either={"b":1}', { either: { b: 1 } }],
    ['both={"a":1,"b":2}', { both: { a: 1, b: 2 } }],
    ['pair=[{"a":1},{"b":2}]', { pair: [{ a: 1 }, { b: 2 }] }],
    ['piped={"a":1}', { piped: 2 }],
    ['mixed={"a":1}', { mixed: { a: 1 } }],
    ['mixed={"a":"1"}', { mixed: '{"a":"1"}' }],
    ["order[by][name]=a&order[lines][0][isbn]=2&order[lines][0][copies]=3", {
      order: { lines: [{ isbn: "2", copies: 3 }], by: { name: "a" } },
    }],
  ];
  for (const [text, form] of cases) {
    assertEquals(await client.post("/", { body: text, headers: URLENCODED }).json<unknown>(), form, text);
  }
});

Deno.test("The values in JSON text have JSON's types, and faults are found where they are", async () => {
  await using client = echoing(Order);
  const faults = async (body: string): Promise<string[]> => {
    const { errors } = await client.post("/", { body, headers: URLENCODED }).problem(422);
    return errors.map(({ in: source, path }) => [source, ...path].join("."));
  };
  assertEquals(await faults('lines=[{"isbn":1,"copies":"2"},{"copies":true}]&address={"zip":"5"}'), [
    "form.address.city",
    "form.address.zip",
    "form.lines.0.isbn",
    "form.lines.0.copies",
    "form.lines.1.isbn",
    "form.lines.1.copies",
  ]);
  assertEquals(await faults('address={"city":"a","geo":[1e999,1e400]}'), ["form.address.geo.0", "form.address.geo.1"]);
  for (const text of ["{", "5", '"x"', "[]", "[{}]", "true", "null", "{'city':'a'}", "x"]) {
    assertEquals(await faults(`address=${text}`), ["form.address"], text);
  }
  for (const text of ["5", '"x"', "x", "[1", "null"]) {
    assertEquals(await faults(`lines=${text}`), ["form.lines.0"], text);
  }
  assertEquals(await faults('address={"city":"a"}&address={"city":"b"}'), ["form.address"]);
  assertEquals(await faults('address={"city":"a"}&address[city]=b'), ["form.address"]);
});

Deno.test("Keys in JSON text never reach a prototype", async () => {
  const app = new App();
  const form = Form(v.object({ any: v.record(v.string(), v.unknown()), loose: v.looseObject({}) }));
  app.post(
    "/",
    { form },
    async (_request, { form }) => [Object.keys(form.any), "polluted" in form.any, "polluted" in form.loose],
  );
  await using client = new TestClient(app);
  const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
  const reply = await client.post("/", { body: new URLSearchParams({ any: text, loose: text }) });
  assertEquals([reply.status, ({} as { polluted?: unknown }).polluted], [200, undefined]);
  assertEquals((await reply.json()).slice(1), [false, false]);
});

Deno.test("A file of JSON stays a file if a file is declared, and an object with files is sent in brackets", async () => {
  const app = new App();
  const meta = v.object({ title: v.string() });
  const page = v.object({ title: v.string(), file: v.optional(UploadFile) });
  app.post(
    "/",
    { form: Form(v.object({ data: UploadFile, meta, page: v.optional(page) })) },
    async (_request, { form }) => [
      form.data.type,
      await form.data.text(),
      form.meta,
      form.page?.title,
    ],
  );
  await using client = new TestClient(app);
  const body = new FormData();
  body.append("data", new Blob(['{"a":1}'], { type: "application/json" }));
  body.append("meta", new Blob(['{"title":"x"}'], { type: "application/json" }));
  body.append("page[title]", "y");
  assertEquals(await client.post("/", { body }).json<unknown>(), ["application/json", '{"a":1}', { title: "x" }, "y"]);
  body.delete("page[title]");
  body.append("page", '{"title":"y"}');
  const { errors } = await client.post("/", { body }).problem(422);
  assertEquals(errors.map(({ path }) => path), [["page"]]);
});

Deno.test("JSON in a form has the bounds of JSON bodies: its size, its nesting, and the number of reported faults", async () => {
  interface Comment {
    text: string;
    replies: Comment[];
  }
  const Comment: v.GenericSchema<Comment> = v.object({ text: v.string(), replies: v.array(v.lazy(() => Comment)) });
  await using client = echoing(v.object({ comment: Comment }));
  const send = (text: string, way = 0) => {
    const { body, headers } = bodiesOf([["comment", text]])[way]!;
    return client.post("/", { body, headers });
  };
  const nested = (depth: number, inner = "") => '{"text":"","replies":['.repeat(depth) + inner + "]}".repeat(depth);
  for (const way of [0, 3]) {
    assertEquals((await send(nested(20), way)).status, 200);
    assertEquals((await send(nested(20_000), way)).status, 400);
    assertEquals((await send(`{"text":"${"x".repeat(1024 * 1024)}","replies":[]}`, way)).status, 413);
    const many = await send(nested(2, Array(60_000).fill("1").join(",")), way).problem(422);
    assert(many.errors.length === 1, String(many.errors.length));
  }
  const start = performance.now();
  await send(nested(400, Array(10_000).fill("1").join(","))).problem(422);
  assert(performance.now() - start < 10_000, "a deep form of 30 KB held the process");
});
