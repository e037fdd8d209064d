// Section 10 of the contract, POST /mcp: how agents see routes, and which routes cannot be tools.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, dependency, RouteError, Router } from "@webfw/core";
import * as v from "valibot";
import { Agent } from "../agents/agent.ts";
import { SAFE } from "../unit/describe/json_schema/support/integer_bounds.ts";

const Book = v.pipe(v.object({ id: v.pipe(v.number(), v.integer()), title: v.string() }), v.title("Book"));

Deno.test("Nothing is exposed until a route has tool", async () => {
  const app = new App();
  app.get("/books", async () => []);
  app.get("/authors", { tool: false }, async () => []);
  assertEquals(await new Agent(app).list(), []);
});

Deno.test("A tool has the name and the texts of its route", async () => {
  const app = new App();
  app.get("/books/{id}", { params: { id: v.number() }, response: Book, tool: true }, async function getBook(_, { id }) {
    "Get a book.\n\nBy its number.";
    return { id, title: "Emma" };
  });
  assertEquals(await new Agent(app).tool(), {
    name: "getBook",
    title: "Get a book",
    description: "Get a book.\n\nBy its number.",
    inputSchema: {
      type: "object",
      properties: { id: { type: "number" } },
      required: ["id"],
      additionalProperties: false,
    },
    outputSchema: {
      title: "Book",
      type: "object",
      properties: { id: { type: "integer", ...SAFE }, title: { type: "string" } },
      required: ["id", "title"],
    },
    annotations: {
      title: "Get a book",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
  });
});

Deno.test("Options of a tool override those of its route", async () => {
  const app = new App();
  app.post("/find", {
    tool: { name: "find-books", description: "Searches.", annotations: { readOnlyHint: true, title: "Search" } },
  }, async function find() {
    "Find books.";
    return {};
  });
  const { name, title, description, annotations } = await new Agent(app).tool();
  assertEquals([name, title, description], ["find-books", "Search", "Searches."]);
  assertEquals(annotations, {
    title: "Search",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  });
});

Deno.test("The description of a route without texts is its method and path", async () => {
  const app = new App();
  const router = new Router({ prefix: "/shops/{shop}" });
  router.get("/books", { tool: true }, async () => []);
  app.include(router, { prefix: "/v1" });
  const { name, title, description } = await new Agent(app).tool();
  assertEquals([name, title, description], ["getV1ShopsShopBooks", undefined, "GET /v1/shops/{shop}/books"]);
});

Deno.test("Arguments are the path, the query and the body by name; headers, cookies and dependencies are not", async () => {
  const app = new App();
  const paging = dependency({ query: { limit: v.optional(v.number(), 10) } }, async (_, { limit }) => limit);
  app.put("/shops/{shop}/books/{id}", {
    params: { id: v.number() },
    query: {
      q: v.pipe(v.string(), v.description("Words"), v.metadata({ deprecated: true })),
      ids: v.array(v.string()),
      tag: v.optional(v.array(v.string())),
    },
    headers: { "x-key": v.string() },
    cookies: { sid: v.string() },
    body: Book,
    deps: { paging },
    tool: true,
  }, async (_, args) => args);
  const { inputSchema } = await new Agent(app).tool();
  assertEquals(Object.keys(inputSchema.properties as object), ["shop", "id", "q", "ids", "tag", "limit", "body"]);
  const { q, ids, tag } = inputSchema.properties as Record<string, unknown>;
  assertEquals(q, { type: "string", description: "Words", deprecated: true });
  assertEquals(ids, { type: "array", items: { type: "string" }, minItems: 1 });
  assertEquals(tag, { type: "array", items: { type: "string" } });
  assertEquals(inputSchema.required, ["shop", "id", "q", "ids", "body"]);
});

Deno.test("Annotations say what the HTTP method promises", async () => {
  const app = new App();
  const methods = ["GET", "PUT", "DELETE", "POST", "PATCH", "PURGE"];
  app.route("/x", { methods, tool: true }, async () => ({}));
  const hints = (await new Agent(app).list()).map(({ annotations }) => [
    annotations.readOnlyHint,
    annotations.destructiveHint,
    annotations.idempotentHint,
  ]);
  assertEquals(hints, [
    [true, false, true],
    [false, true, true],
    [false, true, true],
    [false, true, false],
    [false, true, false],
    [false, true, false],
  ]);
});

Deno.test("A route that cannot be a tool is refused when it is registered, with the cure", () => {
  const register = (declare: (app: App) => void) => assertThrows(() => declare(new App()), RouteError);
  const streaming = register((app) =>
    app.get("/x", { tool: true }, async function* () {
      yield 1;
    })
  );
  assertEquals(streaming.code, "tool");
  assert(/GET \/x.*streams.*array/.test(streaming.message), streaming.message);

  const name = register((app) => app.get("/x", { tool: { name: "a.b" } }, async () => 1));
  assertEquals(name.code, "tool");
  assertEquals(
    name.message,
    'Cannot expose GET /x as a tool: the name "a.b" must be 1 to 64 letters, digits, "_" and "-"',
  );

  const response = register((app) =>
    app.get("/x", { response: v.map(v.string(), v.any()), tool: true }, async () => new Map())
  );
  assertEquals(response.code, "tool");
  assert(/GET \/x.*map.*v\.record/.test(response.message), response.message);

  const query = dependency({ query: { body: v.optional(v.string()) } }, async () => 1);
  const twice = register((app) => app.post("/x", { body: Book, deps: { query }, tool: true }, async () => 1));
  assertEquals(twice.code, "tool");
  assert(/POST \/x.*"body".*rename/.test(twice.message), twice.message);

  const head = register((app) => app.route("/x", { methods: ["HEAD"], tool: true }, async () => 1));
  assertEquals(head.code, "tool");
});

Deno.test("Wrong options of a tool are refused when the route is registered", () => {
  const register = (tool: unknown) =>
    assertThrows(() => new App().get("/x", { tool: tool as true }, async () => 1), TypeError).message;
  assertEquals(register("yes"), 'Cannot register GET /x: "tool" must be true, or its options');
  assertEquals(
    register({ title: "x" }),
    'Cannot register GET /x: the option "tool.title" is unknown, the nearest is "tool.name"; there are name, description, annotations',
  );
  assertEquals(register({ name: 1 }), 'Cannot register GET /x: "tool.name" must be of type string');
  assertEquals(
    register({ annotations: { readOnlyHint: "yes" } }),
    'Cannot register GET /x: "tool.annotations.readOnlyHint" must be of type boolean',
  );
});

Deno.test("Two tools cannot declare the same name; derived names get a number", async () => {
  const clash = new App();
  clash.get("/a", { tool: { name: "same" } }, async () => 1);
  const error = assertThrows(() => clash.get("/b", { tool: { name: "same" } }, async () => 1), RouteError);
  assertEquals(error.code, "conflict");

  const app = new App();
  const long = "x".repeat(80);
  app.get("/1", { operationId: `${long}1`, tool: true }, async () => 1);
  app.get("/2", { operationId: `${long}2`, tool: true }, async () => 2);
  app.get("/3", { operationId: "a.b", tool: true }, async () => 3);
  app.get("/4", { tool: { name: "a_b" } }, async () => 4);
  const agent = new Agent(app);
  const names = (await agent.list()).map(({ name }) => name);
  assertEquals(names, ["x".repeat(64), `${"x".repeat(63)}2`, "a_b2", "a_b"]);
  assertEquals(await agent.result("a_b"), { result: 4 });
  assertEquals(await agent.result("a_b2"), { result: 3 });
});
