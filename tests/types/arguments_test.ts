// The arguments of handlers: their types, and that the values have these types.

import { App, type Schema } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

const int = v.pipe(v.number(), v.integer());

Deno.test("a parameter of the path is a string, unless a schema says otherwise", async () => {
  const app = new App();
  app.get("/shelves/{shelf}/books/{id}", async (_request, args) => {
    assertType<IsExact<typeof args, { readonly shelf: string; readonly id: string }>>(true);
    return args;
  });
  app.get("/{shelf}/{id}", { params: { id: int } }, async (_request, args) => {
    assertType<IsExact<typeof args, { readonly shelf: string; readonly id: number }>>(true);
    return args;
  });
  app.get("/files/{path...}", async (_request, args) => {
    assertType<IsExact<typeof args, { readonly path: string }>>(true);
    return args;
  });
  app.get("/", async (_request, args) => {
    // deno-lint-ignore ban-types -- it is what a route without arguments has
    assertType<IsExact<typeof args, {}>>(true);
    return args;
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/shelves/top/books/7").json(), { shelf: "top", id: "7" });
  assertEquals(await client.get("/top/7").json(), { shelf: "top", id: 7 });
  assertEquals(await client.get("/files/a/b.txt").json(), { path: "a/b.txt" });
  assertEquals(await client.get("/").json(), {});
});

Deno.test("an argument of the query has its schema's type", async () => {
  const app = new App();
  app.get("/", {
    query: {
      text: v.string(),
      number: v.number(),
      big: v.bigint(),
      flag: v.boolean(),
      genre: v.picklist(["novel", "poems"]),
      one: v.literal(1),
      list: v.array(v.string()),
      numbers: v.optional(v.array(int), []),
      optional: v.optional(v.string()),
      given: v.optional(int, 10),
      nullable: v.nullable(v.number()),
      date: v.pipe(v.string(), v.isoDate(), v.transform((text) => new Date(text))),
      length: v.pipeAsync(v.string(), v.transformAsync(async (text) => text.length)),
    },
  }, async (_request, args) => {
    assertType<
      IsExact<typeof args, {
        readonly text: string;
        readonly number: number;
        readonly big: bigint;
        readonly flag: boolean;
        readonly genre: "novel" | "poems";
        readonly one: 1;
        readonly list: string[];
        readonly numbers: number[];
        readonly optional: string | undefined;
        readonly given: number;
        readonly nullable: number | null;
        readonly date: Date;
        readonly length: number;
      }>
    >(true);
    const { date, big, ...rest } = args;
    return { ...rest, year: date.getUTCFullYear(), big: typeof big };
  });
  await using client = new TestClient(app);
  const query = {
    text: "a",
    number: 1.5,
    big: 9n,
    flag: true,
    genre: "poems",
    one: 1,
    list: ["x", "y"],
    nullable: null,
    date: "1815-12-10",
    length: "four",
  };
  assertEquals(await client.get("/", { query }).json(), {
    text: "a",
    number: 1.5,
    big: "bigint",
    flag: true,
    genre: "poems",
    one: 1,
    list: ["x", "y"],
    numbers: [],
    given: 10,
    nullable: null,
    year: 1815,
    length: 4,
  });
});

Deno.test("headers, cookies and the body come under their names, and only where they are declared", async () => {
  const app = new App();
  const Order = v.object({
    id: int,
    note: v.optional(v.string()),
    lines: v.array(v.object({ isbn: v.string(), count: v.optional(int, 1) })),
    payment: v.variant("kind", [
      v.object({ kind: v.literal("card"), number: v.string() }),
      v.object({ kind: v.literal("invoice"), days: int }),
    ]),
  });
  app.post("/{shop}", {
    headers: { "X-Token": v.string(), age: v.optional(int) },
    cookies: { session: v.string() },
    body: Order,
  }, async (_request, args) => {
    assertType<IsExact<keyof typeof args, "shop" | "headers" | "cookies" | "body">>(true);
    assertType<IsExact<(typeof args)["headers"]["X-Token"], string>>(true);
    assertType<IsExact<(typeof args)["headers"]["age"], number | undefined>>(true);
    assertType<IsExact<(typeof args)["cookies"]["session"], string>>(true);
    assertType<IsExact<(typeof args)["body"], v.InferOutput<typeof Order>>>(true);
    return args;
  });
  app.post("/texts", { body: v.union([v.string(), v.array(v.string())]) }, async (_request, { body }) => {
    assertType<IsExact<typeof body, string | string[]>>(true);
    return body;
  });
  app.post("/anything", { body: v.unknown() }, async (_request, { body }) => {
    assertType<IsExact<typeof body, unknown>>(true);
    return body;
  });
  await using client = new TestClient(app);
  const json = { id: 1, lines: [{ isbn: "1" }], payment: { kind: "invoice", days: 30 } };
  const headers = { "x-token": "secret" };
  assertEquals(await client.post("/corner", { headers, cookies: { session: "1" }, json }).json(), {
    shop: "corner",
    headers: { "X-Token": "secret" },
    cookies: { session: "1" },
    body: { ...json, lines: [{ isbn: "1", count: 1 }] },
  });
  assertEquals(await client.post("/texts", { json: ["a"] }).json(), ["a"]);
  assertEquals(await client.post("/anything", { json: [1] }).json(), [1]);
});

Deno.test("a schema can be passed by name, with its types", async () => {
  const page: Schema<unknown, number> = v.pipe(v.number(), v.minValue(1));
  const word: v.GenericSchema<string, number> = v.pipe(v.string(), v.transform((text) => text.length));
  interface Category {
    name: string;
    children: Category[];
  }
  const Category: v.GenericSchema<Category> = v.object({
    name: v.string(),
    children: v.array(v.lazy(() => Category)),
  });
  const app = new App();
  app.post("/", { query: { page, word }, body: Category, response: Category }, async (_request, args) => {
    assertType<IsExact<typeof args, { readonly page: number; readonly word: number; readonly body: Category }>>(true);
    const { body, page, word } = args;
    return { name: body.name + page + word, children: body.children };
  });
  await using client = new TestClient(app);
  const json = { name: "a", children: [{ name: "b", children: [] }] };
  assertEquals(await client.post("/", { query: { page: 2, word: "four" }, json }).json(), { ...json, name: "a24" });
});

Deno.test("a computed path accepts the parameters that it may contain", async () => {
  const app = new App();
  for (const kind of ["authors", "books"]) {
    app.get(`/${kind}/{id}`, { query: { q: v.optional(v.string()) } }, async (_request, args) => {
      assertType<IsExact<typeof args, { readonly id: string; readonly q: string | undefined }>>(true);
      return args;
    });
    const path: string = `/${kind}/{id}/numbers/{number}`;
    app.get(path, { params: { number: int } }, async (_request, args) => {
      assertType<IsExact<typeof args, { readonly number: number }>>(true);
      return args.number;
    });
  }
  await using client = new TestClient(app);
  assertEquals(await client.get("/books/7").json(), { id: "7" });
  assertEquals(await client.get("/books/7/numbers/8").json(), 8);
});

Deno.test("a schema that a generic helper declares has its type in the handlers", async () => {
  const app = new App();
  function echo<Value>(path: string, schema: v.GenericSchema<unknown, Value>, show: (value: Value) => string): void {
    app.get(path, { query: { value: schema } }, async (_request, { value }) => show(value));
  }
  echo("/number", v.pipe(v.unknown(), v.number()), (value) => value.toFixed(1));
  await using client = new TestClient(app);
  assertEquals(await client.get("/number").problem(422).then(({ status }) => status), 422);
});
