// Section 10 of the contract: the endpoints that an application serves besides its routes, and the
// options that move them.

import { assert, assertEquals, assertNotEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, HTTPError, RouteError, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

Deno.test("Without further configuration the application serves GET /openapi.json, GET /docs and POST /mcp", async () => {
  const app = new App({ title: "Books", version: "2.0.0", description: "All of them" });
  app.get("/books", async function listBooks() {
    return [];
  });
  await using client = new TestClient(app);
  const document = await client.get("/openapi.json");
  assertEquals(document.status, 200);
  assertEquals(document.headers.get("content-type"), "application/json");
  assertEquals(document.headers.get("x-content-type-options"), "nosniff");
  const { info, paths } = await document.json() as { info: unknown; paths: Record<string, unknown> };
  assertEquals(info, { title: "Books", version: "2.0.0", description: "All of them" });
  assertEquals(Object.keys(paths), ["/books"]);

  const page = await client.get("/docs");
  assertEquals(page.status, 200);
  assertStringIncludes(await page.text(), "<title>Books</title>");

  const tools = await client.post("/mcp", { json: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
  assertEquals((await tools.json() as { result: { tools: unknown[] } }).result.tools, []);
  assertEquals([app.openapiUrl, app.docsUrl, app.mcpUrl], ["/openapi.json", "/docs", "/mcp"]);
});

Deno.test("null turns an endpoint off; there is no page without the document", async () => {
  const none = new App({ openapiUrl: null, mcpUrl: null });
  assertEquals([none.openapiUrl, none.docsUrl, none.mcpUrl], [null, null, null]);
  const noPage = new App({ docsUrl: null });
  const moved = new App({ openapiUrl: "/v1/api.json", docsUrl: "/v1/", mcpUrl: "/agents" });
  const statusesOf = async (app: App, paths: string[]) => {
    await using client = new TestClient(app);
    return await Promise.all(paths.map(async (path) => (await client.get(path)).status));
  };
  assertEquals(await statusesOf(none, ["/openapi.json", "/docs", "/mcp"]), [404, 404, 404]);
  assertEquals(await statusesOf(noPage, ["/openapi.json", "/docs", "/mcp"]), [200, 404, 405]);
  assertEquals(await statusesOf(moved, ["/v1/api.json", "/v1/", "/v1/page.js", "/agents"]), [200, 200, 200, 405]);
  assertEquals(await statusesOf(moved, ["/openapi.json", "/docs", "/mcp"]), [404, 404, 404]);
});

Deno.test("HEAD is answered for the built-in GET paths, and 405 with Allow for other methods", async () => {
  await using client = new TestClient(new App());
  for (const path of ["/openapi.json", "/docs"]) {
    const head = await client.head(path);
    assertEquals([head.status, await head.text()], [200, ""]);
    const put = await client.put(path);
    assertEquals([put.status, put.headers.get("allow")], [405, "GET, HEAD"]);
  }
  for (const method of ["GET", "DELETE"]) {
    const refused = await client.request(method, "/mcp");
    assertEquals([refused.status, refused.headers.get("allow")], [405, "POST"]);
  }
});

Deno.test("The document has an ETag, and is not sent again to a client that has it", async () => {
  const app = new App();
  await using client = new TestClient(app);
  const first = await client.get("/openapi.json");
  const etag = first.headers.get("etag")!;
  assert(/^"[\w-]+"$/.test(etag), etag);
  const second = await client.get("/openapi.json", { headers: { "if-none-match": etag } });
  assertEquals([second.status, await second.text(), second.headers.get("etag")], [304, "", etag]);
  const other = await client.get("/openapi.json", { headers: { "if-none-match": '"other"' } });
  assertEquals(other.status, 200);
  await using changed = new TestClient(new App({ version: "9" }));
  assertNotEquals((await changed.get("/openapi.json")).headers.get("etag"), etag);
});

Deno.test("App middleware also sees the built-in endpoints, which have no route", async () => {
  const app = new App();
  const seen: string[] = [];
  app.middleware(async (request, next) => {
    const response = await next(request);
    assertEquals(request.route, null);
    seen.push(`${request.method} ${request.path} ${response.status}`);
    if (request.headers.has("x-refuse")) throw new HTTPError(403);
    return response;
  });
  await using client = new TestClient(app);
  await client.get("/openapi.json");
  await client.get("/docs");
  await client.post("/mcp", { json: { jsonrpc: "2.0", method: "notifications/initialized" } });
  assertEquals(seen, ["GET /openapi.json 200", "GET /docs 200", "POST /mcp 202"]);
  assertEquals((await client.get("/docs", { headers: { "x-refuse": "1" } })).status, 403);
});

Deno.test("A user route on a built-in path is a RouteError with code conflict, whose cure is docsUrl: null and the like", async () => {
  const app = new App();
  const handler = async () => ({});
  for (const [path, option] of [["/docs", "docsUrl"], ["/openapi.json", "openapiUrl"], ["/mcp", "mcpUrl"]] as const) {
    for (const method of ["GET", "POST"]) {
      const error = assertThrows(
        () => app.route(path, { methods: [method] }, handler),
        RouteError,
        `set ${option} of the App`,
      );
      assertEquals(error.code, "conflict");
    }
  }
  const router = new Router();
  router.get("/docs", handler);
  assertEquals(assertThrows(() => app.include(router), RouteError).code, "conflict");
  app.include(router, { prefix: "/v1" });
  app.get("/{page}", async (_request, { page }) => ({ page }));
  assertEquals(app.routes.map(({ path }) => path), ["/v1/docs", "/{page}"]);
  await using client = new TestClient(app);
  assertEquals((await client.get("/docs")).headers.get("content-type"), "text/html; charset=utf-8");
  assertEquals(await client.get("/about").json(), { page: "about" });
  assertEquals((await client.get("/mcp")).status, 405);

  const free = new App({ docsUrl: null });
  free.get("/docs", handler);
  assertEquals((await free.fetch(new Request("http://localhost/docs"))).status, 200);
});

Deno.test("The paths of the endpoints are checked when the application is made", () => {
  assertEquals(assertThrows(() => new App({ docsUrl: "docs" }), RouteError).code, "path");
  assertEquals(assertThrows(() => new App({ docsUrl: "/x", openapiUrl: "/x" }), RouteError).code, "conflict");
  assertEquals(assertThrows(() => new App({ mcpUrl: "/openapi.json" }), RouteError).code, "conflict");
  assertThrows(() => new App({ mcpUrl: "/{name}" }), TypeError, "without parameters");
  assertThrows(() => new App({ openapiUrl: "" }), TypeError, "without parameters");
  assertThrows(() => new App({ openApiUrl: null } as object), TypeError, 'the option "openApiUrl" is unknown');
});

Deno.test("openapi() returns the document without starting anything, and knows routes that come later", () => {
  const app = new App();
  let hasStarted = false;
  app.lifespan(async function* () {
    hasStarted = true;
    yield;
  });
  assertEquals(app.openapi().paths, {});
  app.get("/late", async () => 1);
  assertEquals(Object.keys(app.openapi().paths), ["/late"]);
  assert(app.openapi() === app.openapi(), "it is made once");
  assertEquals(hasStarted, false);
});

Deno.test("The schema of onError documents all error replies", () => {
  const app = new App();
  const Failure = v.pipe(v.object({ code: v.number() }), v.title("Failure"));
  app.onError((error) => Response.json({ code: error.status }, { status: error.status }), { schema: Failure });
  app.get("/", { query: { q: v.number() } }, async () => 1);
  const { components, paths } = app.openapi();
  assertEquals(paths["/"]?.get?.responses["422"], { $ref: "#/components/responses/ValidationProblem" });
  for (const name of ["Problem", "ValidationProblem"]) {
    assertEquals(components.responses?.[name]?.content, {
      "application/json": { schema: { $ref: "#/components/schemas/Failure" } },
    });
  }
  assertThrows(() => new App().onError(() => {}, { schema: {} as never }), TypeError, "must be a valibot schema");
});

Deno.test("A schema that tools cannot use is an error at registration, and the route is not served", () => {
  const app = new App();
  const error = assertThrows(
    () =>
      app.get("/stream", { tool: true }, async function* () {
        yield 1;
      }),
    RouteError,
    "Cannot expose GET /stream as a tool",
  );
  assertEquals(error.code, "tool");
  assertEquals(app.routes, []);
});

Deno.test("The same explicit name of a tool twice is a RouteError with code conflict, at registration", () => {
  const app = new App();
  app.route("/books", { methods: ["GET", "POST"], tool: { name: "books" } }, async () => []);
  const handler = async () => ({});
  const error = assertThrows(() => app.get("/other", { tool: { name: "books" } }, handler), RouteError);
  assertEquals([error.code, error.message], [
    "conflict",
    'Cannot register the route: the tool name "books" of GET /other is that of GET /books',
  ]);
});
