// Section 4 of the contract: mistakes in the options of a route are errors at registration, which
// name the route and the cure.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, Form, HTTPError, Router, UploadFile } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

/** A declaration with a mistake that TypeScript finds. JavaScript, or a cast, can still make it. */
// deno-lint-ignore no-explicit-any
type Untyped = any;

const handler = async () => {};

/** A schema of another library, as Standard Schema has it. */
const foreign: Untyped = { "~standard": { version: 1, vendor: "zod", validate: (value: unknown) => ({ value }) } };
/** One that is a function, as those of some libraries are. */
const callable: Untyped = Object.assign(() => {}, { "~standard": { version: 1, vendor: "arktype" } });

function refusalOf(declare: () => unknown): string {
  return assertThrows(declare, TypeError).message;
}

Deno.test("A handler before its options is an error that says the order", () => {
  const app: Untyped = new App();
  const router: Untyped = new Router({ prefix: "/v1" });
  const order = "the options come before the handler, write (path, options, handler)";
  assertEquals(refusalOf(() => app.get("/a", handler, {})), `Cannot register GET /a: ${order}`);
  assertEquals(refusalOf(() => router.post("/a", handler, {})), `Cannot register POST /v1/a: ${order}`);
  assertEquals(refusalOf(() => app.websocket("/a", handler, {})), `Cannot register WEBSOCKET /a: ${order}`);
  assertEquals(
    refusalOf(() => app.route("/a", handler, { methods: ["PURGE"] })),
    `Cannot register a route at "/a": ${order}`,
  );
  assertEquals(
    refusalOf(() => (dependency as Untyped)(handler, {})),
    "Cannot declare the dependency: the options come before the function, write dependency(options, async (request, args) => …)",
  );
});

Deno.test("A form that is not made by Form() is an error that says so", () => {
  assertEquals(
    refusalOf(() => new App().post("/a", { form: v.object({ title: v.string() }) as Untyped }, handler)),
    'Cannot register POST /a: "form" must be made by Form(), write form: Form(schema)',
  );
});

Deno.test("Entries instead of a schema are an error that says how to wrap them", () => {
  const entries: Untyped = { title: v.string() };
  const wrap = "must be one valibot schema, write v.object({ … }) around the entries";
  const table: [declare: () => unknown, message: string][] = [
    [() => new App().post("/a", { body: entries }, handler), `Cannot register POST /a: "body" ${wrap}`],
    [() => new App().get("/a", { response: entries }, handler), `Cannot register GET /a: "response" ${wrap}`],
    [() => new App().websocket("/a", { send: entries }, handler), `Cannot register WEBSOCKET /a: "send" ${wrap}`],
    [() => new App().topic("a", { schema: entries }), `Cannot make the topic "a": schema ${wrap}`],
    [() => Form(entries), `Cannot declare a form: the argument ${wrap}`],
  ];
  for (const [declare, message] of table) assertEquals(refusalOf(declare), message);
});

Deno.test("A default that its own schema refuses is an error that names both", () => {
  const app = new App();
  const Page = v.pipe(v.number(), v.minValue(1));
  assertEquals(
    refusalOf(() => app.get("/a", { query: { page: v.optional(Page, 0) } }, handler)),
    'Cannot bind the query "page" of GET /a: the default 0 does not fit ' +
      "(Invalid value: Expected >=1 but received 0), change it or its schema",
  );
  const nested = v.object({ lines: v.array(v.object({ size: v.nullable(v.picklist(["s", "m"]), "xl" as "s") })) });
  assertStringIncludes(refusalOf(() => app.post("/b", { body: nested }, handler)), 'the default "xl" does not fit');
  assertStringIncludes(
    refusalOf(() => app.post("/b", { form: Form(v.object({ size: v.nullish(Page, -1) })) }, handler)),
    "Cannot bind the form of POST /b: the default -1 does not fit",
  );
  const shouting = v.pipe(v.string(), v.toUpperCase(), v.literal("A"));
  const broken = v.check<number>(() => {
    throw new Error("no database yet");
  });
  app.post("/c", {
    query: {
      date: v.optional(v.pipe(v.string(), v.isoDate()), () => "later"),
      letter: v.optional(shouting, "a"),
      tags: v.optional(v.array(v.string()), []),
      none: v.nullish(v.number(), null),
      checked: v.optional(v.pipe(v.number(), broken), 1),
    },
    body: v.optional(v.object({ count: v.optional(v.bigint(), 5n) }), {}),
  }, handler);
});

Deno.test("A list of schemas instead of one is an error that names v.array()", () => {
  const list: Untyped = [v.object({ title: v.string() })];
  const cure = "must be one valibot schema, write v.array(…) for an array";
  assertEquals(
    refusalOf(() => new App().post("/a", { body: list }, handler)),
    `Cannot register POST /a: "body" ${cure}`,
  );
  assertEquals(
    refusalOf(() => new App().get("/a", { response: list }, handler)),
    `Cannot register GET /a: "response" ${cure}`,
  );
  assertEquals(refusalOf(() => Form(list)), `Cannot declare a form: the argument ${cure}`);
});

Deno.test("Tags that are one text, and an error handler that is no function, are errors that name the cure", () => {
  const tags: Untyped = "books";
  const message = 'Cannot register GET /a: "tags" must be an array of strings, write tags: ["books"]';
  assertEquals(refusalOf(() => new App().get("/a", { tags }, handler)), message);
  const onError: Untyped = { schema: v.string() };
  assertEquals(
    refusalOf(() => new App().onError(onError)),
    "Cannot set the error handler: it must be a function of two arguments, got object; write (error, request) => …",
  );
  const ofOneClass: Untyped = async () => {};
  assertEquals(
    refusalOf(() => new App().onError(HTTPError as Untyped, ofOneClass)),
    "Cannot set the error handler: there is one for all errors, write (error, request) => … alone",
  );
});

Deno.test("A file in a JSON body, and a generator that is not async, are errors that name the cure", () => {
  assertEquals(
    refusalOf(() => new App().post("/a", { body: v.object({ picture: UploadFile }) }, handler)),
    'Cannot bind the body of POST /a: a schema of kind "file" cannot be read from JSON, take files by form: Form(…)',
  );
  const generator: Untyped = function* () {};
  assertEquals(
    refusalOf(() => dependency(generator)),
    "Cannot declare the dependency: its function must be async, write async function* (request, args) { … }",
  );
});

Deno.test("What comes from elsewhere names its cure: dependency() twice, a prefix in place of options", () => {
  const user = bearer(async (token) => ({ token }));
  assertEquals(
    refusalOf(() => dependency(user as Untyped)),
    'Cannot declare the dependency: "bearer" is one already, use it as it is',
  );
  assertEquals(
    refusalOf(() => new App().include(new Router(), "/v1" as Untyped)).slice(0, 80),
    "Cannot include the router: the options must be an object, got string; there are ",
  );
  assertEquals(
    refusalOf(() => new App().cron("0 3 * * *", handler as Untyped, {} as Untyped)),
    "Cannot declare the cron: its name must be 1 to 64 letters, digits, spaces, hyphens and underscores, " +
      'got "0 3 * * *"; write cron(name, schedule, handler)',
  );
});

Deno.test("Work after the reply that is no function is an error where it is added", async () => {
  const app = new App({ log: () => {} });
  app.get("/a", async (request) => {
    const sent: Untyped = undefined;
    return refusalOf(() => request.after(sent));
  });
  await using client = new TestClient(app);
  assertEquals(
    await client.get("/a").json(),
    "Cannot run a task after the reply: it must be a function, got undefined; write () => …",
  );
});

Deno.test("A function that takes next as its third argument, as in Express, is an error that says what it gets", () => {
  const three: Untyped = async (_request: unknown, _reply: unknown, _next: unknown) => {};
  const four: Untyped = (_error: unknown, _request: unknown, _reply: unknown, _next: unknown) => {};
  const table: [declare: () => unknown, message: string][] = [
    [
      () => new App().middleware(three),
      "Cannot add the middleware: it gets two arguments, not 3; write async (request, next) => …",
    ],
    [
      () => new Router().middleware(three),
      "Cannot add the middleware: it gets two arguments, not 3; write async (request, next) => …",
    ],
    [
      () => new App().get("/a", three),
      "Cannot register GET /a: the handler gets two arguments, not 3; write async (request, args) => …",
    ],
    [
      () => new App().websocket("/a", three),
      "Cannot register WEBSOCKET /a: the handler gets two arguments, not 3; write async (socket, args) => …",
    ],
    [
      () => new App().onError(four),
      "Cannot set the error handler: it must be a function of two arguments, got one of 4; write (error, request) => …",
    ],
  ];
  for (const [declare, message] of table) assertEquals(refusalOf(declare), message);
});

Deno.test("A schema of another library is an error that says which library it is of", () => {
  const zod = "must be a valibot schema, got a schema of zod";
  const table: [declare: () => unknown, message: string][] = [
    [() => new App().post("/a", { body: foreign }, handler), `Cannot register POST /a: "body" ${zod}`],
    [() => new App().get("/a", { response: foreign }, handler), `Cannot register GET /a: "response" ${zod}`],
    [
      () => new App().get("/a", { responses: { 404: foreign } }, handler),
      'Cannot register GET /a: "404" must be a valibot schema or { schema, description, headers }, got a schema of zod',
    ],
    [() => new App().get("/a", { query: { q: foreign } }, handler), `Cannot declare GET /a: query "q" ${zod}`],
    [() => dependency({ headers: { q: foreign } }, handler), `Cannot declare handler: headers "q" ${zod}`],
    [() => new App().websocket("/a", { receive: foreign }, handler), `Cannot register WEBSOCKET /a: "receive" ${zod}`],
    [() => new App().topic("a", { schema: foreign }), `Cannot make the topic "a": schema ${zod}`],
    [() => new App().onError(() => {}, { schema: foreign }), `Cannot set the error handler: "schema" ${zod}`],
    [() => Form(foreign), `Cannot declare a form: the argument ${zod}`],
    [
      () => new App().post("/a", { body: callable }, handler),
      'Cannot register POST /a: "body" must be a valibot schema, got a schema of arktype',
    ],
    [
      () => new App().post("/a", { body: v.minLength(1) as Untyped }, handler),
      'Cannot register POST /a: "body" must be a valibot schema',
    ],
  ];
  for (const [declare, message] of table) assertEquals(refusalOf(declare), message);
});

Deno.test("One schema instead of schemas by their names is an error that says so", () => {
  const query: Untyped = v.object({ q: v.string() });
  const cure = "give each schema by its name, as in query: { name: schema }";
  assertEquals(refusalOf(() => new App().get("/a", { query }, handler)), `Cannot declare GET /a: ${cure}`);
  assertEquals(refusalOf(() => new App().get("/a", { query: foreign }, handler)), `Cannot declare GET /a: ${cure}`);
});

Deno.test("A mistake in a declaration has the line of the program in its stack, before all others", () => {
  const app: Untyped = new App();
  const router: Untyped = new Router();
  const wrong = { params: { id: 1 } };
  const declarations = [
    () => app.get("/{id}", wrong, handler),
    () => router.post("/{id}", wrong, handler),
    () => app.route("/{id}", { ...wrong, methods: ["PURGE"] }, handler),
    () => app.websocket("/{id}", wrong, handler),
    () => app.mount("mounted", handler),
    () => app.files("files", "."),
  ];
  for (const declare of declarations) {
    const { stack = "" } = assertThrows(declare, Error);
    assertStringIncludes(
      stack.split("\n").find((line) => line.startsWith("    at ")) ?? "",
      import.meta.filename!,
      stack,
    );
  }
  router.get("/shelves/{id}", handler);
  const { stack = "" } = assertThrows(() => app.include(router, { prefix: "/{id}" }), Error);
  assertStringIncludes(stack, import.meta.filename!);
});
