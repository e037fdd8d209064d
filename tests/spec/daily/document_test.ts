// "A route takes `document: (operation) => operation`; the application's `document(document, { model })` gets
// `model(Schema)`, which adds a model to the components and gives its `$ref`. `info.summary`. `callbacks` on a route.
// `v.metadata({ … })` of any schema stands in its JSON Schema with every keyword and `x-…` it has."

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, Router } from "@webfw/core";
import { bearer, jwt } from "@webfw/core/auth";
import type { DocumentModels, JsonSchema, OpenAPIDocument, OpenAPIOperation } from "@webfw/core/openapi";
import * as v from "valibot";
import { asyncapiOf } from "../../support/asyncapi_apps.ts";

const Book = v.pipe(v.object({ title: v.string() }), v.title("Book"));
const BOOK = { $ref: "#/components/schemas/Book" };
const answer = async () => ({ title: "" });

function operationAt(document: OpenAPIDocument, path: string, method: "get" | "post" = "get"): OpenAPIOperation {
  return document.paths[path]![method]!;
}

Deno.test("A route changes its operation, below a prefix and before the application changes the document", () => {
  const seen: string[] = [];
  const router = new Router({ prefix: "/shop", tags: ["shop"] });
  router.get("/", {
    response: Book,
    document: (operation) => {
      seen.push(JSON.stringify(operation.responses[200]), ...operation.tags!);
      operation["x-cost"] = 1;
      return { ...operation, tags: ["moved"], externalDocs: { url: "https://shop.example" } };
    },
  }, answer);
  router.get("/other", { response: Book }, answer);
  const app = new App({
    document: (document) => {
      seen.push(String(operationAt(document, "/shop/")["x-cost"]));
      return document;
    },
  });
  app.include(router);
  const document = app.openapi();
  const content = { "application/json": { schema: BOOK } };
  assertEquals(seen, [JSON.stringify({ description: "OK", content }), "shop", "1"]);
  assertEquals(operationAt(document, "/shop/")["x-cost"], 1);
  assertEquals(document.tags, [{ name: "moved" }, { name: "shop" }]);
  assertEquals(Object.keys(operationAt(document, "/shop/other")).includes("x-cost"), false);
});

Deno.test("What a route returns must be an operation, and is a copy", () => {
  const replies = { 200: { description: "OK" } };
  const app = new App();
  app.get("/", { document: ({ operationId }) => ({ operationId, responses: replies }) }, answer);
  const operation = operationAt(app.openapi(), "/");
  assertEquals(operation, { operationId: "answer", responses: replies });
  replies[200].description = "changed";
  assertEquals((operation.responses[200] as { description: string }).description, "OK");

  const returning = (result: unknown) => () => {
    const app = new App();
    app.get("/", { document: () => result as OpenAPIOperation }, answer);
    return app.openapi();
  };
  const start = 'Cannot describe GET /: its option "document" ';
  assertThrows(returning(undefined), TypeError, `${start}returned nothing, return the operation`);
  assertThrows(returning({}), TypeError, `${start}returned no operation: it must be an object with responses`);
  const cyclic = { responses: {} };
  assertThrows(
    returning({ ...cyclic, self: cyclic, n: 1n, f: Object.assign(cyclic, { cyclic }) }),
    TypeError,
    "not JSON",
  );
  const throwing = new App();
  throwing.get("/", {
    document: () => {
      throw new Error("broken");
    },
  }, answer);
  assertThrows(() => throwing.openapi(), Error, `${start}threw: broken`);
  const register = (document: unknown) => () => new App().get("/", { document: document as never }, answer);
  assertThrows(register("x"), TypeError, 'Cannot register GET /: "document" must be a function');
  assertThrows(register(async () => {}), TypeError, 'Cannot register GET /: "document" must be a sync function');
});

Deno.test("`model` adds a model with all that it needs, and gives its $ref", () => {
  const Author = v.pipe(v.object({ name: v.string() }), v.title("Author"));
  const Work = v.pipe(v.object({ author: Author, book: Book, loose: v.object({ a: v.number() }) }), v.title("Work"));
  const refs: string[] = [];
  const app = new App({
    document: (document, { model }) => {
      refs.push(model(Work), model(Book), model(Work), model(Book, "input"));
      document.webhooks = {
        written: {
          post: {
            requestBody: { required: true, content: { "application/json": { schema: { $ref: model(Work) } } } },
            responses: { 204: { description: "Received" } },
          },
        },
      };
      return { ...document, components: { ...document.components, schemas: { ...document.components.schemas } } };
    },
  });
  app.post("/", { body: Book }, async () => {});
  const { schemas } = app.openapi().components;
  assertEquals(refs, ["Work", "Book", "Work", "Book"].map((name) => `#/components/schemas/${name}`));
  assertEquals(Object.keys(schemas!).sort(), [
    "Author",
    "Book",
    "Problem",
    "ValidationIssue",
    "ValidationProblem",
    "Work",
  ]);
  assertEquals((schemas!.Work as JsonSchema).properties!.book, BOOK);
  // The next document is the same.
  app.get("/more", answer);
  assertEquals(Object.keys(app.openapi().components.schemas!).length, 6);
});

Deno.test("Models keep their names when `model` adds others of the same title", () => {
  const Other = v.pipe(v.object({ pages: v.number() }), v.title("Book"));
  const Same = v.pipe(v.object({ title: v.string() }), v.title("Book"));
  const refs: string[] = [];
  const app = new App({
    document: (document, { model }) => {
      refs.push(model(Other), model(Same));
      return { ...document, components: {} };
    },
  });
  app.get("/", { response: Book }, answer);
  const { schemas } = app.openapi().components;
  assertEquals(refs, ["#/components/schemas/Book2", "#/components/schemas/Book"]);
  // The program left out the others itself.
  assertEquals(Object.keys(schemas!), ["Book2"]);
});

Deno.test("`model` works in an application without routes, and refuses what is no model", () => {
  const withModel = (use: (models: DocumentModels) => void) => {
    return new App({
      document: (document, models) => {
        use(models);
        return document;
      },
    }).openapi();
  };
  assertEquals(Object.keys(withModel(({ model }) => model(Book)).components.schemas!), ["Book"]);
  const start = 'its option "document" threw: Cannot ';
  assertThrows(() => withModel(({ model }) => model({} as never)), Error, `${start}add a model: the schema must be`);
  for (const schema of [v.object({ a: v.string() }), v.pipe(v.string(), v.title("Isbn"))]) {
    assertThrows(
      () => withModel(({ model }) => model(schema)),
      Error,
      `${start}add a model: an object with a title is one, write v.pipe(Invoice, v.title("Invoice"))`,
    );
  }
  assertThrows(() => withModel(({ model }) => model(v.object({ a: v.map(v.string(), v.string()) }))), Error, start);
});

Deno.test("`summary` of the application is that of the OpenAPI document, and AsyncAPI has none", async () => {
  const app = new App({ title: "Books", summary: "All books", description: "Long." });
  assertEquals(app.openapi().info, { title: "Books", version: "0.1.0", summary: "All books", description: "Long." });
  const { info } = await asyncapiOf(app);
  assertEquals(Object.keys(info), ["title", "version", "description"]);
  assertThrows(() => new App({ summary: 1 as never }), TypeError, 'Cannot make the App: "summary" must be a string');
});

Deno.test("`callbacks` documents requests that the application sends", () => {
  const app = new App();
  const Invoice = v.pipe(v.object({ paid: v.pipe(v.string(), v.transform(Number), v.number()) }), v.title("Invoice"));
  app.post("/orders", {
    body: v.object({ callback: v.pipe(v.string(), v.url()) }),
    callbacks: {
      paid: { url: "{$request.body#/callback}", body: Invoice, summary: "It is paid", description: "Once." },
      asked: { url: "https://shop.example/ask?id={$response.body#/id}", method: "GET" },
      sent: { url: "{$request.body#/callback}/sent", body: v.object({ at: v.string() }), method: "PUT" },
    },
  }, async function order() {
    return { id: 1 };
  });
  const document = app.openapi();
  const responses = {
    "2XX": { description: "The request was received." },
    "4XX": { description: "The request was refused." },
  };
  const json = (name: string) => ({
    required: true,
    content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } },
  });
  assertEquals(operationAt(document, "/orders", "post").callbacks, {
    paid: {
      "{$request.body#/callback}": {
        post: { summary: "It is paid", description: "Once.", requestBody: json("Invoice"), responses },
      },
    },
    asked: { "https://shop.example/ask?id={$response.body#/id}": { get: { responses } } },
    sent: { "{$request.body#/callback}/sent": { put: { requestBody: json("OrderSent"), responses } } },
  });
  // What is sent: the output of the schema.
  assertEquals((document.components.schemas!.Invoice as JsonSchema).properties!.paid, {
    type: "number",
    format: "double",
  });
});

Deno.test("A mistake in `callbacks` names the place and the cure", () => {
  // deno-lint-ignore no-explicit-any -- mistakes
  const messageOf = (callbacks: any): string =>
    assertThrows(() => new App().post("/", { callbacks }, async () => {}), TypeError).message;
  const url = "{$request.body#/url}";
  const cases: readonly (readonly [callbacks: unknown, part: string])[] = [
    [[], '"callbacks" must be an object, write callbacks: { paid: { url: "…", body: Invoice } }'],
    [{ paid: url }, '"callbacks.paid" must be an object'],
    [{ paid: { body: Book } }, '"callbacks.paid.url" must be a URL with expressions'],
    [
      { paid: { url: "{url}" } },
      '"callbacks.paid.url" has {url}, which is no runtime expression, write {$request.body#/url}',
    ],
    [{ paid: { url, body: "Book" } }, '"callbacks.paid.body" must be'],
    [{ paid: { url, body: v.object({ at: v.map(v.string(), v.string()) }) } }, "callbacks.paid.body"],
    [{ paid: { url, boddy: Book } }, '"callbacks.paid.boddy" is unknown, the nearest is "callbacks.paid.body"'],
    [{ paid: { url, method: "post" } }, '"callbacks.paid.method" must be one of POST, PUT'],
    [{ paid: { url, method: "GET", body: Book } }, '"callbacks.paid" has a body, which a GET request does not'],
    [{ paid: { url, summary: 1 } }, '"callbacks.paid.summary" must be a string'],
  ];
  for (const [callbacks, part] of cases) {
    const message = messageOf(callbacks);
    for (const text of ["Cannot register POST /", part]) assertStringIncludes(message, text);
  }
});

Deno.test("Metadata of any schema stands in its JSON Schema, with each keyword and extension", () => {
  const keywords = {
    title: "Tags",
    description: "The tags",
    uniqueItems: true,
    $comment: "Sorted",
    "x-order": [1, { deep: true }],
    deprecated: true,
    minContains: 1,
    contains: { const: "a" },
    examples: [["a"]],
  };
  const Tags = v.pipe(v.array(v.string()), v.metadata(keywords));
  const app = new App();
  const Sent = v.object({
    optional: v.optional(Tags),
    short: v.pipe(v.string(), v.metadata({ "x-short": 1, maxLength: 3 })),
  });
  app.post("/{code}", {
    params: { code: v.pipe(v.string(), v.metadata({ description: "The code", "x-code": true, pattern: "^a" })) },
    query: { q: v.optional(v.pipe(v.array(v.string()), v.metadata({ uniqueItems: true, "x-q": null }))) },
    headers: { "x-a": v.pipe(v.string(), v.metadata({ $comment: "A header", title: "A" })) },
    body: Sent,
    response: Sent,
    responses: { 201: { headers: { location: v.pipe(v.string(), v.metadata({ "x-where": "here" })) } } },
  }, async (_request, { body }) => body);
  const document = app.openapi();
  const { parameters, responses } = operationAt(document, "/{code}", "post");
  assertEquals(document.components.schemas!.Tags, { type: "array", items: { type: "string" }, ...keywords });
  const [code, q, header] = parameters!;
  assertEquals(code!.description, "The code");
  assertEquals(code!.schema, { type: "string", minLength: 1, pattern: "^a", "x-code": true });
  assertEquals(q!.schema, { type: "array", items: { type: "string" }, uniqueItems: true, "x-q": null });
  assertEquals(header!.schema, { type: "string", $comment: "A header", title: "A" });
  const reply = responses[201] as { headers: Record<string, { schema: JsonSchema }> };
  assertEquals(reply.headers.location!.schema["x-where"], "here");
  const { properties } = document.components.schemas!.PostCodeBody as JsonSchema;
  assertEquals(properties!.short, { type: "string", maxLength: 3, "x-short": 1 });
});

Deno.test("`passwordFlow` of `bearer` and `jwt` is documented as the password flow of OAuth 2.0", () => {
  const secret = new TextEncoder().encode("a secret of at least 32 bytes, for HS256");
  const token = { issuer: "https://books.example", audience: null, keys: secret, algorithms: ["HS256"] } as const;
  const passwordFlow = { tokenUrl: "/token", scopes: { read: "Read books" } };
  const oauth2 = { authorizationUrl: "https://id.example/a", tokenUrl: "https://id.example/t", scopes: {} };
  const user = bearer(async () => "Ada", { passwordFlow: { tokenUrl: "/token" }, description: "Sign in." });
  const member = jwt({ ...token, passwordFlow });
  const both = jwt({ ...token, scheme: "both", passwordFlow, oauth2 });
  const app = new App({ basePath: "/shop" });
  app.get("/", { deps: { user } }, async (_request, { user }) => user);
  app.get("/member", { deps: { member: member.withScopes("read"), both } }, answer);
  const { paths, components } = app.openapi();
  assertEquals(paths["/member"]!.get!.security, [{ jwt: ["read"], both: [] }]);
  const password = { tokenUrl: "/shop/token", scopes: passwordFlow.scopes };
  assertEquals(components.securitySchemes, {
    bearer: {
      type: "oauth2",
      flows: { password: { tokenUrl: "/shop/token", scopes: {} } },
      description: "Sign in.",
    },
    jwt: { type: "oauth2", flows: { password } },
    both: { type: "oauth2", flows: { authorizationCode: oauth2, password } },
  });
  assertThrows(() => member.withScopes("write"), TypeError, 'asks for the scope "write", which none of its flows has');
});

Deno.test("A mistake in `passwordFlow` names the guard and the cure", () => {
  // deno-lint-ignore no-explicit-any -- mistakes
  const messageOf = (passwordFlow: any) =>
    assertThrows(() => bearer(async () => "Ada", { passwordFlow }), TypeError).message;
  const cases: readonly (readonly [passwordFlow: unknown, part: string])[] = [
    [{}, '"passwordFlow.tokenUrl" must be a URL or a path, such as "/token", got undefined'],
    [{ tokenUrl: "http://[" }, '"passwordFlow.tokenUrl" must be a URL'],
    [{ tokenURL: "/token" }, 'the nearest is "passwordFlow.tokenUrl"'],
    [{ tokenUrl: "/token", scopes: ["read"] }, '"passwordFlow.scopes" must be descriptions by name'],
    [{ tokenUrl: "/token", scopes: { read: 1 } }, "flows.password.scopes.read"],
    ["/token", "passwordFlow"],
  ];
  for (const [passwordFlow, part] of cases) assertStringIncludes(messageOf(passwordFlow), part);
  const rest = { issuer: "https://a.example", audience: null, openIdConnectUrl: "https://a.example/c" };
  assertThrows(
    () => jwt({ ...rest, passwordFlow: { tokenUrl: "/token" } }),
    TypeError,
    'Cannot make a jwt guard: a scheme has one type, leave out "passwordFlow" or "openIdConnectUrl"',
  );
});

Deno.test("A mistake in `docs.parameters` names the nearest parameter", () => {
  // deno-lint-ignore no-explicit-any -- mistakes
  const make = (parameters: any) => () => new App({ docs: { parameters } });
  assertThrows(make({ docExpanson: "none" }), TypeError, 'the nearest is "docs.parameters.docExpansion"');
  assertThrows(make({ url: "https://a.example" }), TypeError, '"docs.parameters.url" is unknown');
  assertThrows(make({ filter: () => true }), TypeError, '"docs.parameters.filter" must be JSON');
  assertThrows(make("none"), TypeError, '"docs.parameters" must be an object');
});
