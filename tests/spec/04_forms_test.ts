// Section 4 of the contract: forms, urlencoded or multipart, by one schema.

import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { App, Form, type Limits, RouteError, Router, UploadFile } from "@webfw/core";
import { TestClient, type TestReply } from "@webfw/core/testing";
import * as v from "valibot";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

const URLENCODED = { "content-type": "application/x-www-form-urlencoded" };

/** An app with one route that gives its form back. */
function echoing(schema: v.GenericSchema | v.GenericSchemaAsync, limits: Limits = {}): TestClient {
  const app = new App({ limits });
  app.post("/", { form: Form(schema) }, async (_request, { form }) => ({ form }));
  return new TestClient(app);
}

/** The same fields in both encodings. */
function bothOf(text: string): BodyInit[] {
  const urlencoded = new URLSearchParams(text);
  const multipart = new FormData();
  for (const [name, value] of urlencoded) multipart.append(name, value);
  return [urlencoded, multipart];
}

const Order = v.object({
  title: v.string(),
  copies: v.pipe(v.number(), v.integer(), v.minValue(1)),
  isGift: v.optional(v.boolean(), false),
  tags: v.optional(v.array(v.string()), []),
  address: v.object({ street: v.string(), zip: v.optional(v.number()) }),
  items: v.optional(v.array(v.object({ name: v.string(), price: v.number() }))),
});

Deno.test("A form is bound from urlencoded and from multipart alike, nested by brackets, lists by repeated names", async () => {
  await using client = echoing(Order);
  const text = "title=Emma&copies=2&isGift=1&tags=a&tags=b&address[street]=High+St&address[zip]=5" +
    "&items[0][name]=x&items[0][price]=1.5&items[1][name]=y&items[1][price]=2&extra=left+out";
  for (const body of bothOf(text)) {
    assertEquals(await client.post("/", { body }).json<unknown>(), {
      form: {
        title: "Emma",
        copies: 2,
        isGift: true,
        tags: ["a", "b"],
        address: { street: "High St", zip: 5 },
        items: [{ name: "x", price: 1.5 }, { name: "y", price: 2 }],
      },
    });
  }
});

Deno.test("One 422 names every fault of a form and of other input, without the values", async () => {
  const app = new App();
  let hasRun = false;
  app.post("/", { query: { page: v.number() }, form: Form(Order) }, async () => {
    hasRun = true;
  });
  await using client = new TestClient(app);
  const text = "title=a&title=b&copies=secret&address[zip]=secret&items[0][price]=secret";
  for (const body of bothOf(text)) {
    const { errors } = await client.post("/?page=x", { body }).problem(422);
    assertEquals(errors.map((issue) => [issue.in, ...issue.path]), [
      ["query", "page"],
      ["form", "title"],
      ["form", "copies"],
      ["form", "address", "street"],
      ["form", "address", "zip"],
      ["form", "items", 0, "name"],
      ["form", "items", 0, "price"],
    ]);
    assertEquals(errors[1], {
      in: "form",
      path: ["title"],
      code: "invalid",
      message: "Sent more than once",
      expected: "a single value",
    });
    assertEquals(errors[3]!.message, "Missing value");
    assert(!JSON.stringify(errors).includes("secret"));
  }
  assertEquals(hasRun, false);
});

Deno.test("A missing form that is required is 422, one that is optional is left out, and one without fields is empty", async () => {
  await using required = echoing(v.object({ a: v.optional(v.string()) }));
  const { errors } = await required.post("/").problem(422);
  assertEquals(errors.map((issue) => [issue.in, issue.path]), [["form", []]]);
  assertEquals(await required.post("/", { headers: URLENCODED }).json<unknown>(), { form: {} });
  assertEquals(await required.post("/", { body: "", headers: URLENCODED }).json<unknown>(), { form: {} });
  assertEquals(await required.post("/", { body: new FormData() }).json<unknown>(), { form: {} });
  await using optional = echoing(v.optional(v.object({ a: v.string() })));
  assertEquals(await optional.post("/").json<unknown>(), {});
  assertEquals((await optional.post("/", { headers: URLENCODED }).problem(422)).errors[0]!.path, ["a"]);
});

Deno.test("A body of another type is 415, and the reply says which are taken", async () => {
  await using client = echoing(v.object({}));
  for (const type of ["application/json", "text/plain", "multipart/mixed; boundary=x", "application/x-www-form", "x"]) {
    const response = await client.post("/", { body: "a=1", headers: { "content-type": type } });
    assertEquals([response.status, response.headers.get("accept")], [
      415,
      "application/x-www-form-urlencoded, multipart/form-data",
    ], type);
  }
  assertEquals((await client.post("/", { body: new Uint8Array([1]) })).status, 415);
});

Deno.test("A content type is read in any case, and with parameters", async () => {
  await using client = echoing(v.object({ a: v.string() }));
  const send = (type: string, body: string) => client.post("/", { body, headers: { "content-type": type } });
  for (const type of ["Application/X-WWW-Form-Urlencoded", "application/x-www-form-urlencoded; charset=UTF-8"]) {
    assertEquals(await send(type, "a=%C3%A9+x").json<unknown>(), { form: { a: "é x" } });
  }
  const part = '--B"\r\nContent-Disposition: form-data; name=a\r\n\r\né x\r\n--B"--';
  assertEquals((await send("multipart/form-data", part)).status, 400);
  assertEquals((await send("multipart/form-data; boundary=", part)).status, 400);
  const plain = part.replaceAll('"', "");
  for (const parameter of ["boundary=B", 'boundary="B"', "charset=utf-8; BOUNDARY=B"]) {
    assertEquals(await send(`Multipart/Form-Data; ${parameter}`, plain).json<unknown>(), { form: { a: "é x" } });
  }
});

Deno.test("A form that cannot be read is 400", async () => {
  await using client = echoing(v.object({ a: v.optional(v.string()) }));
  for (const body of ["a=%", "a=%zz", "%=1", "a=%ff", "b=%C3", `a${"[b]".repeat(100)}=1`]) {
    assertEquals((await client.post("/", { body, headers: URLENCODED })).status, 400, body);
  }
  const headers = { "content-type": "multipart/form-data; boundary=B" };
  for (const body of ["x", "--B", "--B\r\n\r\n", "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx", "--C--"]) {
    assertEquals((await client.post("/", { body, headers })).status, 400, body);
  }
});

Deno.test("The empty values of an untouched form count as missing if the schema allows it", async () => {
  await using client = echoing(v.object({
    name: v.string(),
    age: v.optional(v.number()),
    born: v.optional(v.pipe(v.string(), v.isoDate())),
    note: v.optional(v.string()),
    cv: v.optional(UploadFile),
    pictures: v.array(UploadFile),
  }));
  const body = new FormData();
  for (const name of ["name", "age", "born", "note"]) body.append(name, "");
  for (const name of ["cv", "pictures"]) body.append(name, new File([], ""));
  assertEquals(await client.post("/", { body }).json<unknown>(), { form: { name: "", note: "", pictures: [] } });
});

Deno.test("Keys that a client chooses never reach a prototype", async () => {
  await using client = echoing(v.object({
    loose: v.optional(v.looseObject({})),
    record: v.optional(v.record(v.string(), v.unknown())),
    any: v.optional(v.unknown()),
  }));
  const keys = ["__proto__", "constructor", "prototype"];
  const text = ["loose", "record", "any"].flatMap((name) =>
    keys.flatMap((key) => [`${name}[${key}][polluted]=1`, `${name}[x][${key}]=1`])
  );
  for (const body of bothOf(text.join("&") + "&__proto__[polluted]=1&constructor[prototype][polluted]=1")) {
    assertEquals((await client.post("/", { body })).status, 200);
    assertStrictEquals(({} as Untyped).polluted, undefined);
  }
});

Deno.test("An async schema is waited for", async () => {
  await using client = echoing(v.objectAsync({
    name: v.pipeAsync(v.string(), v.checkAsync(async (name) => name !== "taken", "Taken")),
  }));
  for (const body of bothOf("name=free")) assertEquals((await client.post("/", { body })).status, 200);
  for (const body of bothOf("name=taken")) {
    assertEquals((await client.post("/", { body }).problem(422)).errors[0]!.message, "Taken");
  }
});

Deno.test("A form reaches the handler with its other arguments", async () => {
  const app = new App();
  const router = new Router({ prefix: "/shops/{shop}" });
  router.put("/books/{id}", {
    params: { id: v.number() },
    query: { dry: v.optional(v.boolean(), false) },
    headers: { "x-token": v.string() },
    deps: { db: async () => "db" },
    form: Form(v.object({ title: v.string() })),
  }, async (_request, { shop, id, dry, headers, db, form }) => [shop, id, dry, headers["x-token"], db, form.title]);
  app.include(router);
  await using client = new TestClient(app);
  const body = new URLSearchParams({ title: "Emma" });
  const reply = client.put("/shops/a/books/5?dry=1", { body, headers: { "x-token": "t" } });
  assertEquals(await reply.json<unknown>(), ["a", 5, true, "t", "db", "Emma"]);
});

Deno.test("A handler reads the same form again", async () => {
  const app = new App();
  app.post("/", { form: Form(v.object({ a: v.number() })) }, async (request, { form }) => {
    const data = await request.formData();
    return [form.a, data.get("a"), (await request.formData()).get("a"), await request.text()];
  });
  await using client = new TestClient(app);
  const body = new URLSearchParams({ a: "1" });
  assertEquals(await client.post("/", { body }).json<unknown>(), [1, "1", "1", "a=1"]);
});

Deno.test("Items that a loose tuple does not describe are texts, as undescribed fields are", async () => {
  const app = new App();
  const pair = v.looseTuple([v.number()]);
  app.post("/", { form: Form(v.object({ pair })) }, async (_request, { form }) => form.pair);
  await using client = new TestClient(app);
  for (const body of bothOf("pair=1&pair=a&pair=b")) {
    assertEquals(await client.post("/", { body }).json<unknown>(), [1, "a", "b"]);
  }
});

Deno.test("Fields and texts are bounded: more than 1000 are 413, so is more text than JSON may have", async () => {
  await using client = echoing(v.looseObject({}));
  const fields = (count: number) => Array.from({ length: count }, (_, index) => `f${index}=x`).join("&");
  for (const body of bothOf(fields(1000))) assertEquals((await client.post("/", { body })).status, 200);
  for (const body of bothOf(fields(1001))) assertEquals((await client.post("/", { body })).status, 413);
  assertEquals((await client.post("/", { body: "&".repeat(5000) + "a=1", headers: URLENCODED })).status, 200);
  const texts = (size: number) => `a=${"x".repeat(size / 2)}&b=${"x".repeat(size / 2)}`;
  const [, fits] = bothOf(texts(1024 * 1024));
  assertEquals((await client.post("/", { body: fits! })).status, 200);
  for (const body of bothOf(texts(1024 * 1024 + 2))) assertEquals((await client.post("/", { body })).status, 413);
});

Deno.test("The bounds of forms are set on the app and on a route", async () => {
  const app = new App({ limits: { parts: 2, body: 10 } });
  const form = Form(v.looseObject({}));
  app.post("/app", { form }, async () => 1);
  app.post("/route", { form, limits: { parts: 3, body: 100 } }, async () => 1);
  await using client = new TestClient(app);
  const statuses = async (path: string, text: string): Promise<number[]> =>
    await Promise.all(bothOf(text).map(async (body) => (await client.post(path, { body })).status));
  assertEquals(await statuses("/app", "a=1&b=2"), [200, 200]);
  assertEquals(await statuses("/app", "a=1&b=2&c="), [413, 413]);
  assertEquals(await statuses("/app", `a=${"x".repeat(11)}`), [413, 413]);
  assertEquals(await statuses("/route", "a=1&b=2&c=3"), [200, 200]);
  assertEquals(await statuses("/route", "a=1&b=2&c=3&d=4"), [413, 413]);
});

Deno.test("A mistake in the declaration of a form is an error where it is made", () => {
  const app = new App();
  const form = Form(v.object({ a: v.string() }));
  const handler = async () => {};
  const mistakes: Record<string, [() => void, typeof Error, string]> = {
    "no schema": [() => Form({ a: "text" } as Untyped), TypeError, "must be a valibot schema"],
    "entries": [() => Form({ a: v.string() } as Untyped), TypeError, "v.object({ … })"],
    "no form": [() => app.post("/a", { form: v.object({}) as Untyped }, handler), TypeError, "Form(schema)"],
    "GET": [() => app.get("/a", { form } as Untyped, handler), TypeError, "under query"],
    "a body as well": [() => app.post("/a", { form, body: v.any() } as Untyped, handler), TypeError, "one body"],
    "a date": [() => app.post("/a", { form: Form(v.object({ d: v.date() })) }, handler), TypeError, "v.toDate()"],
    "no fields": [() => app.post("/a", { form: Form(v.array(v.string())) }, handler), TypeError, "an object"],
  };
  for (const [name, [declare, kind, message]] of Object.entries(mistakes)) assertThrows(declare, kind, message, name);
  const twice = () => app.post("/a", { query: { form: v.string() }, form } as Untyped, handler);
  assertEquals(assertThrows(twice, RouteError).code, "conflict");
});

Deno.test("Names that common clients make of objects and lists are read as they are meant", async () => {
  const Search = v.object({ filter: v.object({ tags: v.array(v.string()), range: v.object({ from: v.number() }) }) });
  await using client = echoing(Search);
  const expected = { form: { filter: { tags: ["a", "b"], range: { from: 1 } } } };
  const send = (body: string): TestReply => client.post("/", { body, headers: URLENCODED });
  // As qs, jQuery and http_build_query write them; brackets escaped or not.
  for (
    const body of [
      "filter[tags][0]=a&filter[tags][1]=b&filter[range][from]=1",
      "filter%5Btags%5D%5B%5D=a&filter%5Btags%5D%5B%5D=b&filter%5Brange%5D%5Bfrom%5D=1",
      "filter%5Btags%5D=a&filter%5Btags%5D=b&filter%5Brange%5D%5Bfrom%5D=1",
    ]
  ) assertEquals(await send(body).json<unknown>(), expected, body);
});
