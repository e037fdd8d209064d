// Section 10 of the contract, and the document columns of section 4: what the OpenAPI document
// includes, and what it leaves out.

import { assert, assertEquals, assertObjectMatch } from "@std/assert";
import { App, Bytes, dependency, HTTPError, Problem, redirect, Router, Text } from "@webfw/core";
import * as v from "valibot";
import type { OpenAPIOperation, OpenAPIParameter, OpenAPIResponse } from "@webfw/core/openapi";
import { operationAt, resolve } from "../describe/look_up.ts";
import { INT64 } from "../unit/describe/json_schema/support/integer_bounds.ts";

const int = v.pipe(v.number(), v.integer());
const Book = v.pipe(v.object({ id: int, title: v.string() }), v.title("Book"));
const answer = async () => null;

/** The parameters of an operation, each by its place and name. */
function parametersOf(operation: OpenAPIOperation): Record<string, Omit<OpenAPIParameter, "in" | "name">> {
  const { parameters = [] } = operation;
  return Object.fromEntries(parameters.map(({ in: source, name, ...rest }) => [`${source} ${name}`, rest]));
}

Deno.test("Title, version and description of the application are in the document; the first two always", () => {
  assertEquals(new App().openapi(), {
    openapi: "3.1.0",
    info: { title: "webfw", version: "0.1.0" },
    paths: {},
    components: {},
  });
  const app = new App({ title: "Books", version: "2.0.0", description: "All books." });
  assertEquals(app.openapi().info, { title: "Books", version: "2.0.0", description: "All books." });
});

Deno.test("Included: path and query parameters, with types and whether they are required", () => {
  const app = new App();
  app.get("/books/{id}/{part}", {
    params: { id: int },
    query: { q: v.optional(v.string()), limit: v.number(), tags: v.array(v.string()) },
  }, answer);
  assertEquals(parametersOf(operationAt(app.openapi(), "get", "/books/{id}/{part}")), {
    "path id": { required: true, schema: INT64 },
    "path part": { required: true, schema: { type: "string", minLength: 1 } },
    "query q": { required: false, schema: { type: "string" } },
    "query limit": { required: true, schema: { type: "number", format: "double" } },
    "query tags": {
      required: true,
      style: "form",
      explode: true,
      schema: { type: "array", items: { type: "string" } },
    },
  });
});

Deno.test("Headers and cookies are parameters, too", () => {
  const app = new App();
  app.get("/", { headers: { "X-Token": v.string() }, cookies: { sid: v.optional(v.string()) } }, answer);
  assertEquals(parametersOf(operationAt(app.openapi(), "get", "/")), {
    "header X-Token": { required: true, schema: { type: "string" } },
    "cookie sid": { required: false, schema: { type: "string" } },
  });
});

Deno.test("Included: request bodies, with nested models under components/schemas", () => {
  const Author = v.pipe(v.object({ name: v.string() }), v.title("Author"));
  const NewBook = v.pipe(v.object({ title: v.string(), author: Author }), v.title("NewBook"));
  const app = new App();
  app.post("/books", { body: NewBook }, answer);
  app.patch("/books", { body: v.optional(NewBook) }, answer);
  const document = app.openapi();
  assertEquals(operationAt(document, "post", "/books").requestBody, {
    required: true,
    content: { "application/json": { schema: { $ref: "#/components/schemas/NewBook" } } },
  });
  assertEquals(operationAt(document, "patch", "/books").requestBody?.required, false);
  assertObjectMatch(document.components.schemas!, {
    NewBook: { type: "object", properties: { author: { $ref: "#/components/schemas/Author" } } },
    Author: { type: "object", properties: { name: { type: "string" } } },
  });
});

Deno.test("Included: response models, at 200 or at the status of the route", () => {
  const app = new App();
  app.get("/books/{id}", { params: { id: int }, response: Book }, async (_request, { id }) => ({ id, title: "" }));
  app.post("/books", { response: Book, status: 201 }, async () => ({ id: 1, title: "" }));
  const document = app.openapi();
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Book" } } };
  const found = operationAt(document, "get", "/books/{id}").responses;
  const created = operationAt(document, "post", "/books").responses;
  assertEquals(found["200"], { description: "OK", content });
  assertEquals(created["201"], { description: "Created", content });
  assertEquals([Object.keys(found), Object.keys(created)], [["200", "422", "4XX", "5XX"], ["201", "4XX", "5XX"]]);
});

Deno.test("Included: other documented replies, Problem as what HTTPError sends and models of one's own as JSON", () => {
  const Taken = v.pipe(v.looseObject({ by: v.string() }), v.title("Taken"), v.description("Someone has it"));
  const app = new App();
  const Missing = v.pipe(Problem, v.description("There is none"));
  const Barred = v.pipe(v.intersect([Problem, v.looseObject({ until: v.string() })]), v.title("Barred"));
  const declared = { 202: Book, 204: v.void(), 400: Problem, 403: Barred, 404: { schema: Missing }, 409: Taken };
  app.get("/", { responses: declared }, answer);
  const { responses } = operationAt(app.openapi(), "get", "/");
  assertEquals(responses["202"], {
    description: "Accepted",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Book" } } },
  });
  assertEquals(responses["204"], { description: "No Content" });
  assertObjectMatch(responses["409"]!, { description: "Someone has it" });
  const contentAt = (status: number) => Object.keys((responses[status] as { content: object }).content);
  assertEquals(contentAt(409), ["application/json"]);
  for (const status of [400, 403, 404]) assertEquals(contentAt(status), ["application/problem+json"]);
  assertEquals(Object.keys(responses), ["202", "204", "400", "403", "404", "409", "4XX", "5XX"]);
});

Deno.test("A reply without a model is application/json without a schema, 204 only where it is the status", () => {
  const app = new App();
  app.get("/default", answer);
  app.get("/status", { status: 202 }, answer);
  app.get("/nothing", { status: 204 }, async () => {});
  app.get("/elsewhere", { status: 303 }, async () => redirect("/"));
  const document = app.openapi();
  const responses = (path: string) => {
    const { "4XX": _4, "5XX": _5, ...success } = operationAt(document, "get", path).responses;
    return success;
  };
  assertEquals(responses("/default"), { 200: { description: "OK", content: { "application/json": {} } } });
  assertEquals(responses("/status"), { 202: { description: "Accepted", content: { "application/json": {} } } });
  assertEquals(responses("/nothing"), { 204: { description: "No Content" } });
  assertEquals(responses("/elsewhere"), { 303: { description: "See Other" } });
});

Deno.test("A handler that streams is documented with the content types of streams", () => {
  const Line = v.pipe(v.object({ n: v.number() }), v.title("Line"));
  const app = new App();
  app.get("/any", async function* () {
    yield 1;
  });
  app.get("/lines", { response: Line }, async function* () {
    yield { n: 1 };
  });
  const document = app.openapi();
  assertEquals(operationAt(document, "get", "/any").responses["200"], {
    description: "OK",
    content: {
      "application/jsonl": {},
      "application/octet-stream": { schema: { type: "string", format: "binary" } },
    },
  });
  assertEquals(operationAt(document, "get", "/lines").responses["200"], {
    description: "OK",
    content: { "application/jsonl": { "x-itemSchema": { $ref: "#/components/schemas/Line" } } },
  });
});

Deno.test("Included: routes of every included router, at their full paths", () => {
  const shelf = new Router({ prefix: "/shelves/{shelf}" });
  shelf.get("", answer);
  shelf.get("/", answer);
  shelf.get("/{id}", answer);
  const library = new Router({ prefix: "/libraries/{library}" });
  library.include(shelf, { prefix: "/floors/{floor}" });
  const app = new App();
  app.include(library, { prefix: "/v1" });
  const prefix = "/v1/libraries/{library}/floors/{floor}/shelves/{shelf}";
  const { paths } = app.openapi();
  assertEquals(Object.keys(paths), [prefix, `${prefix}/`, `${prefix}/{id}`]);
  const names = paths[`${prefix}/{id}`]?.get?.parameters?.map(({ name }) => name);
  assertEquals(names, ["library", "floor", "shelf", "id"]);
});

Deno.test("A name in an include prefix belongs to the path, with the schema that the query declares", () => {
  const books = new Router();
  books.get("/books", { query: { shop: int, q: v.optional(v.string()) } }, answer);
  const app = new App();
  app.include(books);
  app.include(books, { prefix: "/shops/{shop}" });
  const document = app.openapi();
  assertEquals(parametersOf(operationAt(document, "get", "/books")), {
    "query shop": { required: true, schema: INT64 },
    "query q": { required: false, schema: { type: "string" } },
  });
  assertEquals(parametersOf(operationAt(document, "get", "/shops/{shop}/books")), {
    "path shop": { required: true, schema: INT64 },
    "query q": { required: false, schema: { type: "string" } },
  });
});

Deno.test('The rest of a path, "{name...}", is documented as {name}', () => {
  const app = new App();
  app.get("/files/{path...}", answer);
  const { paths } = app.openapi();
  assertEquals(Object.keys(paths), ["/files/{path}"]);
  assertEquals(paths["/files/{path}"]?.get?.parameters?.map(({ name }) => name), ["path"]);
});

Deno.test("Included: the first line of the docstring as the summary, the rest as the description", () => {
  const app = new App();
  app.get("/docstring", async function getBook() {
    "Get a book.\n\nThe rest of this text is the description.";
    return null;
  });
  app.get("/doc", { doc: "From doc.\n\nMore." }, async () => {
    "Hidden.";
    return null;
  });
  app.get("/summary", { summary: "From summary", description: "From description", doc: "Hidden." }, answer);
  const document = app.openapi();
  const words = ["/docstring", "/doc", "/summary"].map((path) => {
    const { summary, description } = operationAt(document, "get", path);
    return [summary, description];
  });
  assertEquals(words, [
    ["Get a book.", "The rest of this text is the description."],
    ["From doc.", "More."],
    ["From summary", "From description"],
  ]);
});

Deno.test("Tags, operationId and deprecated are in the document", () => {
  const app = new App();
  app.get("/a", { tags: ["books", "old"], operationId: "oldBooks", deprecated: true }, answer);
  app.get("/b", { tags: ["books"] }, async function newBooks() {});
  app.get("/c/{id}", async () => {});
  const document = app.openapi();
  assertObjectMatch(operationAt(document, "get", "/a"), {
    tags: ["books", "old"],
    operationId: "oldBooks",
    deprecated: true,
  });
  assertEquals(operationAt(document, "get", "/b").operationId, "newBooks");
  assertEquals(operationAt(document, "get", "/c/{id}").operationId, "getCId");
  assertEquals(document.tags, [{ name: "books" }, { name: "old" }]);
});

Deno.test("operationId is unique in the document", () => {
  const app = new App();
  for (const path of ["/a", "/b", "/c"]) app.get(path, async function same() {});
  const document = app.openapi();
  const ids = ["/a", "/b", "/c"].map((path) => operationAt(document, "get", path).operationId);
  assertEquals(ids, ["same", "same2", "same3"]);
});

Deno.test("Included: the 422 shape, as the framework sends it", async () => {
  const app = new App();
  app.post("/{id}", { params: { id: int }, body: Book }, answer);
  const document = app.openapi();
  const reply = resolve(document, operationAt(document, "post", "/{id}").responses["422"]!);
  const [type = ""] = Object.keys(reply.content ?? {});
  const schema = resolve(document, reply.content![type]!.schema!);

  const response = await app.fetch(
    new Request("http://localhost/x", { method: "POST", body: "{}", headers: JSON_BODY }),
  );
  const body = await response.json();
  assertEquals(response.headers.get("content-type"), type);
  assertEquals(Object.keys(body).filter((key) => !(key in schema.properties!)), []);
  assertEquals(schema.required?.filter((key) => !(key in body)), []);
  const issue = resolve(document, resolve(document, schema.properties!.errors!).items as typeof schema);
  assert(body.errors.length > 1);
  for (const error of body.errors) {
    assertEquals(Object.keys(error).filter((key) => !(key in issue.properties!)), []);
    assertEquals(issue.required?.filter((key) => !(key in error)), []);
  }
});

const JSON_BODY = { "content-type": "application/json" };

Deno.test("422 is documented exactly where input can be invalid", () => {
  const text = v.string();
  const app = new App();
  app.get("/none", answer);
  app.get("/undeclared/{id}", answer);
  app.get("/text/{id}", { params: { id: text } }, answer);
  app.get("/optional-header", { headers: { a: v.optional(text, "") }, cookies: { b: v.optional(text) } }, answer);
  app.get("/optional-list", { query: { a: v.optional(v.array(text), []) } }, answer);
  app.post("/any-body", { body: v.unknown() }, answer);
  app.get("/number/{id}", { params: { id: int } }, answer);
  app.get("/required-header", { headers: { a: text } }, answer);
  app.get("/sent-twice", { query: { a: v.optional(text) } }, answer);
  app.get("/by-dependency", { deps: { a: dependency({ headers: { a: text } }, async () => 1) } }, answer);
  app.post("/body", { body: v.object({}) }, answer);
  const { paths } = app.openapi();
  const told = Object.entries(paths).filter(([, { get, post }]) => "422" in (get ?? post)!.responses);
  assertEquals(told.map(([path]) => path), [
    "/number/{id}",
    "/required-header",
    "/sent-twice",
    "/by-dependency",
    "/body",
  ]);
});

Deno.test("Whatever else a request can be refused with is a problem of the whole range 4XX, a failure one of 5XX", async () => {
  const app = new App();
  app.post("/", { body: Book }, async () => {
    throw new HTTPError(500);
  });
  const document = app.openapi();
  const { responses } = operationAt(document, "post", "/");
  const requests: [status: string, init: RequestInit][] = [
    ["4XX", { body: "{", headers: JSON_BODY }],
    ["4XX", { body: "{}", headers: { "content-type": "text/plain" } }],
    ["4XX", { body: " ".repeat(2 ** 20 + 1), headers: JSON_BODY }],
    ["5XX", { body: '{"id":1,"title":""}', headers: JSON_BODY }],
  ];
  for (const [range, init] of requests) {
    const { content = {} } = resolve(document, responses[range]!);
    const response = await app.fetch(new Request("http://localhost/", { method: "POST", ...init }));
    assertEquals(String(response.status)[0], range[0]);
    assertEquals([response.headers.get("content-type")], Object.keys(content));
    const { required } = resolve(document, content["application/problem+json"]!.schema!);
    assertEquals(Object.keys(await response.json()), required);
  }
});

Deno.test("The schema of onError documents all error replies", async () => {
  const Failure = v.pipe(v.object({ error: v.string() }), v.title("Failure"));
  const contentType = "application/vnd.failure+json";
  const app = new App();
  app.get("/{id}", { params: { id: int }, responses: { 404: Failure } }, answer);
  app.onError(async ({ status, detail }) => {
    return new Response(JSON.stringify({ error: detail }), { status, headers: { "content-type": contentType } });
  }, { schema: Failure, contentType });
  const document = app.openapi();
  const { responses } = operationAt(document, "get", "/{id}");
  for (const status of ["404", "422", "4XX", "5XX"]) {
    assertEquals(resolve(document, responses[status]!).content, {
      [contentType]: { schema: { $ref: "#/components/schemas/Failure" } },
    });
  }
  assertEquals(Object.keys(document.components.schemas!), ["Failure"]);
  const response = await app.fetch(new Request("http://localhost/x"));
  assertEquals([response.status, response.headers.get("content-type")], [422, contentType]);
  await response.body?.cancel();
});

Deno.test("Left out: the built-in routes, wherever they are", async () => {
  const app = new App({ openapiUrl: "/v1/openapi.json", docsUrl: "/v1/docs", mcpUrl: "/v1/agents" });
  app.get("/v1/books", { tool: true }, answer);
  const response = await app.fetch(new Request("http://localhost/v1/openapi.json"));
  assertEquals(Object.keys((await response.json()).paths), ["/v1/books"]);
  assertEquals(Object.keys(app.openapi().paths), ["/v1/books"]);
});

Deno.test("Left out: dependency arguments; included: the inputs of dependencies, each once", () => {
  const token = { headers: { "x-token": v.string() }, query: { lang: v.optional(v.string()) } };
  const user = dependency(token, async () => "user");
  const admin = dependency({ deps: { user }, params: { id: int }, cookies: { sid: v.string() } }, async () => "admin");
  const app = new App();
  app.get("/{id}", { query: { page: v.optional(int) }, deps: { user, admin, plain: async () => 1 } }, answer);
  assertEquals(Object.keys(parametersOf(operationAt(app.openapi(), "get", "/{id}"))), [
    "path id",
    "query page",
    "query lang",
    "header x-token",
    "cookie sid",
  ]);
});

Deno.test("An Authorization header is documented as a security scheme, as OpenAPI requires", () => {
  const optional = dependency({ headers: { authorization: v.optional(v.string()) } }, async () => 1);
  const app = new App();
  app.get("/open", answer);
  app.get("/optional", { deps: { optional } }, answer);
  app.get("/required", { headers: { Authorization: v.string(), Accept: v.string() } }, answer);
  const document = app.openapi();
  const security = ["/open", "/optional", "/required"].map((path) => operationAt(document, "get", path).security);
  assertEquals(security, [undefined, [{}, { authorization: [] }], [{ authorization: [] }]]);
  assertObjectMatch(document.components.securitySchemes!, {
    authorization: { type: "apiKey", in: "header", name: "Authorization" },
  });
  assertEquals(operationAt(document, "get", "/required").parameters, undefined);
});

Deno.test("Routes that differ in the names of their parameters share a path", () => {
  const app = new App();
  app.get("/a/{x}/b/{y}", { params: { x: int } }, answer);
  app.post("/a/{y}/b/{x}", { params: { x: v.boolean() } }, answer);
  const document = app.openapi();
  assertEquals(Object.keys(document.paths), ["/a/{x}/b/{y}"]);
  // By their places: the first is "y" to the route, and "x" to the document.
  const { "path x": x, "path y": y } = parametersOf(operationAt(document, "post", "/a/{x}/b/{y}"));
  assertEquals(x?.schema, { type: "string", minLength: 1 });
  assertEquals(y?.schema, { type: "boolean" });
});

Deno.test("HEAD and OPTIONS are documented where they are registered, others in an extension", () => {
  const app = new App();
  app.get("/", answer);
  app.route("/all", { methods: ["HEAD", "OPTIONS", "PURGE"] }, answer);
  const { paths } = app.openapi();
  assertEquals(Object.keys(paths["/"]!), ["get"]);
  assertEquals(Object.keys(paths["/all"]!), ["head", "options", "x-additionalOperations"]);
  assertEquals(Object.keys(paths["/all"]!["x-additionalOperations"]!), ["PURGE"]);
});

Deno.test("The document names no server, so it is valid at any address", () => {
  const app = new App();
  app.get("/", answer);
  assert(!("servers" in app.openapi()));
});

Deno.test("The same application gives the same document, to the last character", () => {
  const make = () => {
    const app = new App();
    app.get("/b/{id}", { params: { id: int }, response: Book, tags: ["b"] }, async () => ({ id: 1, title: "" }));
    app.post("/a", { body: v.object({ title: v.string() }), headers: { authorization: v.string() } }, answer);
    return JSON.stringify(app.openapi());
  };
  assertEquals(make(), make());
});

Deno.test("Text and bytes of JSON are any JSON, and not a string", () => {
  const app = new App();
  app.get("/text", { response: Text("application/json") }, async () => "[1]");
  app.get("/problem", { response: Bytes("application/vnd.api+json; version=1") }, async () => new Uint8Array());
  app.get("/lines", { response: Text("application/jsonl") }, async () => "1\n");
  const document = app.openapi();
  const contentAt = (path: string) => {
    return (operationAt(document, "get", path).responses[200] as { content: object }).content;
  };
  assertEquals(contentAt("/text"), { "application/json": {} });
  assertEquals(contentAt("/problem"), { "application/vnd.api+json": {} });
  assertEquals(contentAt("/lines"), { "application/jsonl": { schema: { type: "string" } } });
});

Deno.test("`document` can add what OpenAPI 3.1 has besides, and its types know it", () => {
  const app = new App({
    document: (document) => {
      document.info.summary = "Payments";
      const operation = document.paths["/pay"]!.post!;
      operation.callbacks = {
        paid: { "{$request.body#/callback}": { post: { responses: { 200: { description: "Taken" } } } } },
      };
      operation.externalDocs = { url: "https://pay.example" };
      const reply = operation.responses[200] as OpenAPIResponse;
      reply.links = { receipt: { operationId: "receipt", parameters: { id: "$response.body#/id" } } };
      reply.content!["application/json"]!.examples = { small: { summary: "A cent", value: { id: 1 } } };
      document.webhooks = { refunded: { post: { responses: { 200: { description: "Taken" } } } } };
      return document;
    },
  });
  app.post("/pay", async function pay() {
    return { id: 1 };
  });
  const { info, paths, webhooks } = app.openapi();
  assertEquals([info.summary, Object.keys(webhooks!)], ["Payments", ["refunded"]]);
  assertEquals(Object.keys(paths["/pay"]!.post!.callbacks!), ["paid"]);
});
