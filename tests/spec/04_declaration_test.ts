// Section 4 of the contract: the options of a route, and the mistakes that are found at
// registration.

import { assertEquals, assertThrows } from "@std/assert";
import { App, dependency, RouteError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

const text = v.string();

Deno.test("args has every declared argument by its name", async () => {
  const app = new App();
  app.post(
    "/books/{id}/{part}",
    {
      params: { id: v.number() },
      query: { q: v.optional(text), tags: v.array(text) },
      headers: { "x-token": text },
      cookies: { sid: text },
      body: v.object({ title: text }),
      deps: { db: async () => "db" },
    },
    async (_request, args) => args,
  );
  await using client = new TestClient(app);
  const reply = client.post("/books/7/2?tags=a&tags=b&undeclared=1", {
    headers: { "X-Token": "t", "x-other": "o" },
    cookies: { sid: "s", other: "o" },
    json: { title: "Emma", other: 1 },
  });
  assertEquals(await reply.json(), {
    id: 7,
    part: "2",
    tags: ["a", "b"],
    headers: { "x-token": "t" },
    cookies: { sid: "s" },
    body: { title: "Emma" },
    db: "db",
  });
});

Deno.test("args has only declared inputs: no headers, cookies or body by default", async () => {
  const app = new App();
  app.post("/", async (_request, args) => Object.keys(args));
  await using client = new TestClient(app);
  assertEquals(await client.post("/?q=1", { json: { a: 1 }, cookies: { sid: "s" } }).json(), []);
});

Deno.test("An undeclared path parameter is a string", async () => {
  const app = new App();
  app.get("/{id}", async (_request, { id }) => [typeof id, id]);
  await using client = new TestClient(app);
  assertEquals(await client.get("/007").json(), ["string", "007"]);
});

Deno.test("Headers are case-insensitive, in declarations and in requests", async () => {
  const app = new App();
  app.get("/", { headers: { "X-Request-ID": text } }, async (_request, { headers }) => headers["X-Request-ID"]);
  await using client = new TestClient(app);
  for (const name of ["x-request-id", "X-REQUEST-ID", "X-Request-Id"]) {
    assertEquals(await client.get("/", { headers: { [name]: "1" } }).json(), "1");
  }
});

Deno.test("A name that would be bound twice is an error at registration", () => {
  const db = async () => 1;
  const table: Record<string, [path: string, options: Untyped]> = {
    "path and query": ["/{x}", { query: { x: text } }],
    "path and dependency": ["/{x}", { deps: { x: db } }],
    "query and dependency": ["/", { query: { x: text }, deps: { x: db } }],
    "path and body": ["/{body}", { body: text }],
    "path and headers": ["/{headers}", { headers: { a: text } }],
    "path and cookies": ["/{cookies}", { cookies: { a: text } }],
    "query and body": ["/", { query: { body: text }, body: text }],
    "query and headers": ["/", { query: { headers: text }, headers: { a: text } }],
    "query and cookies": ["/", { query: { cookies: text }, cookies: { a: text } }],
    "dependency and body": ["/", { deps: { body: db }, body: text }],
    "dependency and headers": ["/", { deps: { headers: db }, headers: { a: text } }],
    "dependency and cookies": ["/", { deps: { cookies: db }, cookies: { a: text } }],
    "one header in two spellings": ["/", { headers: { "x-a": text, "X-A": text } }],
  };
  for (const [name, [path, options]] of Object.entries(table)) {
    const app = new App();
    assertThrows(() => app.post(path, options, async () => {}), Error, undefined, name);
    assertEquals(app.routes, [], name);
  }
});

Deno.test("A name that a dependency would bind twice is an error, too", () => {
  const inner = async () => 1;
  for (
    const options of [
      { query: { x: text }, deps: { x: inner } },
      { headers: { a: text }, deps: { headers: inner } },
      { cookies: { a: text }, query: { cookies: text } },
    ] as Untyped[]
  ) {
    assertThrows(() => {
      const outer = dependency(options, async () => 1);
      new App().get("/", { deps: { outer } } as Untyped, async () => {});
    }, Error);
  }
});

Deno.test("The same name may be bound by the handler and by its dependency: each gets its own", async () => {
  const app = new App();
  const double = dependency({ query: { n: v.number() } }, async (_request, { n }) => n * 2);
  app.get("/", { query: { n: text }, deps: { double } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/?n=4").json(), { n: "4", double: 8 });
});

Deno.test("Names that only look special can be bound", async () => {
  const app = new App();
  app.get(
    "/{constructor}/{hasOwnProperty}",
    { query: { toString: v.optional(text), body: text, request: text } } as Untyped,
    async (_request, args) => ({ ...args }),
  );
  await using client = new TestClient(app);
  assertEquals(await client.get("/a/b?body=c&request=d").json<unknown>(), {
    constructor: "a",
    hasOwnProperty: "b",
    body: "c",
    request: "d",
  });
});

Deno.test("__proto__ cannot be declared as a name", () => {
  const named = Object.fromEntries([["__proto__", text]]) as Untyped;
  for (const option of ["query", "headers", "cookies"]) {
    assertThrows(() => new App().get("/", { [option]: named } as Untyped, async () => {}), TypeError);
  }
  assertThrows(() => new App().get("/{__proto__}", async () => {}), RouteError);
});

Deno.test("Unknown options are an error", () => {
  const app = new App();
  for (const option of ["parms", "Query", "handler", "method", "methods", "reponse"]) {
    assertThrows(() => app.get("/", { [option]: {} } as Untyped, async () => {}), TypeError, `"${option}"`);
  }
  assertThrows(() => dependency({ querry: {} } as Untyped, async () => 1), TypeError, '"querry"');
});

Deno.test("An input must be a schema or a dependency", () => {
  const table: Untyped[] = [
    { query: { q: String } },
    { query: { q: "string" } },
    { query: { q: undefined } },
    { headers: { a: {} } },
    { cookies: { a: null } },
    { body: { title: text } },
    { response: { title: text } },
    { responses: { 404: { title: text } } },
    { deps: { db: () => 1 } },
    { deps: { db: "db" } },
    { deps: { db: null } },
    { deps: { db: text } },
  ];
  for (const options of table) {
    assertThrows(() => new App().post("/", options, async () => {}), TypeError, undefined, Deno.inspect(options));
  }
  for (const options of ["x", 1, null, true]) {
    assertThrows(() => new App().post("/", options as Untyped, async () => {}), TypeError, undefined, String(options));
  }
});

Deno.test("A name that no header can have is an error at registration", () => {
  for (const name of ["", "x y", "x:y", "é", "a\r\nb"]) {
    const declare = () => new App().get("/", { headers: { [name]: text } }, async () => {});
    assertThrows(declare, Error, undefined, JSON.stringify(name));
  }
});

Deno.test("The status must be that of a success", () => {
  for (const status of [100, 199, 400, 404, 500, 200.5, NaN, "201"]) {
    const declare = () => new App().get("/", { status } as Untyped, async () => {});
    assertThrows(declare, Error, undefined, String(status));
  }
});

Deno.test("A status without a body allows no model except of nothing, and no stream", () => {
  const app = new App();
  const model = v.object({ id: v.number() });
  for (const status of [204, 205, 304]) {
    assertThrows(
      () => app.delete("/a", { response: model, status }, async () => ({ id: 1 })),
      TypeError,
      `Cannot register DELETE /a: a reply with status ${status} has no body, leave out the response model or the status`,
    );
    assertThrows(
      () => app.get("/a", { status }, async function* () {}),
      TypeError,
      `Cannot register GET /a: a reply with status ${status} has no body, and the handler streams one, leave out the status`,
    );
  }
  assertEquals(app.routes.length, 0);
  app.delete("/a", { response: v.void(), status: 204 }, async () => {});
  app.delete("/b", { response: v.pipe(v.undefined(), v.description("Gone")), status: 204 }, async () => undefined);
  app.delete("/c", { status: 205 }, async () => {});
});

Deno.test("A schema that no text can satisfy is an error where text is bound", () => {
  const table: Record<string, v.GenericSchema> = {
    date: v.date(),
    object: v.object({ a: text }),
    record: v.record(text, text),
    map: v.map(text, text),
    set: v.set(text),
    instance: v.instance(Date),
    file: v.file(),
    blob: v.blob(),
    function: v.function(),
    symbol: v.symbol(),
    nan: v.nan(),
    "list in a list": v.array(v.array(text)),
    "either a list or a value": v.union([text, v.array(text)]),
  };
  for (const [name, schema] of Object.entries(table)) {
    assertThrows(() => new App().get("/", { query: { q: schema } }, async () => {}), TypeError, "q", name);
  }
});

Deno.test("A path parameter or a cookie has one value: a list is an error at registration", () => {
  const list = v.array(text);
  assertThrows(() => new App().get("/{x}", { params: { x: list } }, async () => {}), TypeError, "x");
  assertThrows(() => new App().get("/", { cookies: { x: list } }, async () => {}), TypeError, "x");
});

Deno.test("A schema that no JSON can satisfy is an error where a body is bound", () => {
  const table: Record<string, v.GenericSchema> = {
    date: v.date(),
    "date in an object": v.object({ at: v.optional(v.date()) }),
    map: v.map(text, text),
    set: v.array(v.set(text)),
    instance: v.instance(URL),
    file: v.file(),
    function: v.function(),
    symbol: v.symbol(),
  };
  for (const [name, schema] of Object.entries(table)) {
    assertThrows(() => new App().post("/", { body: schema }, async () => {}), TypeError, undefined, name);
  }
});

Deno.test("A handler must be an async function: anything else throws TypeError when it is registered", () => {
  const table: Untyped[] = [
    () => 1,
    () => Promise.resolve(1),
    function () {},
    function* () {},
    class {},
    { handleEvent: async () => {} },
    "handler",
    null,
    undefined,
  ];
  for (const handler of table) {
    for (const verb of ["get", "post", "put", "patch", "delete"] as const) {
      assertThrows(() => (new App()[verb] as Untyped)("/", handler), TypeError, undefined, String(handler));
      assertThrows(() => (new App()[verb] as Untyped)("/", {}, handler), TypeError, undefined, String(handler));
    }
  }
  assertThrows(() => new App().route("/", { methods: ["GET"] }, (() => 1) as Untyped), TypeError, "GET /");
});

Deno.test("async functions, arrows, methods and async generators are handlers", async () => {
  const app = new App();
  const holder = {
    async method() {
      return "method";
    },
  };
  app.get("/function", async function () {
    return "function";
  });
  app.get("/arrow", async () => "arrow");
  app.get("/method", holder.method);
  app.get("/generator", async function* () {
    yield "generator";
  });
  await using client = new TestClient(app);
  for (const kind of ["function", "arrow", "method"]) assertEquals(await client.get(`/${kind}`).json(), kind);
  assertEquals(await client.get("/generator").text(), '"generator"\n');
});

Deno.test("The error of a wrong declaration names the method and the full path", () => {
  const app = new App();
  const wrong = () => app.put("/shops/{shop}/x", { query: { q: v.date() } }, async () => {});
  assertThrows(wrong, TypeError, "PUT /shops/{shop}/x");
});
