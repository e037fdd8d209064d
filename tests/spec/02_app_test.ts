// Section 2 of the contract: the members of an App, and what it does without a socket.

import { assert, assertEquals, assertFalse, assertStrictEquals, assertThrows } from "@std/assert";
import { App, type AppOptions, RouteError, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

/** A declaration with a mistake that TypeScript finds. JavaScript, or a cast, can still make it. */
// deno-lint-ignore no-explicit-any
type Untyped = any;

Deno.test("By default, the title is webfw, the version 0.1.0, and there is no description", () => {
  const { title, version, description } = new App();
  assertEquals({ title, version, description }, { title: "webfw", version: "0.1.0", description: undefined });
});

Deno.test("The title, version and description can be set", () => {
  const given = { title: "Books", version: "2.1.0", description: "Sells books." };
  const { title, version, description } = new App(given);
  assertEquals({ title, version, description }, given);
});

Deno.test("An unknown option of the App is an error", () => {
  assertThrows(() => new App({ titel: "Books" } as Untyped), TypeError, '"titel"');
});

Deno.test("Each verb registers a route for its method", async () => {
  const app = new App();
  app.get("/x", async ({ method }) => method);
  app.post("/x", async ({ method }) => method);
  app.put("/x", async ({ method }) => method);
  app.patch("/x", async ({ method }) => method);
  app.delete("/x", async ({ method }) => method);
  await using client = new TestClient(app);
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    assertEquals(await client.request(method, "/x").json(), method);
  }
});

Deno.test("route() registers any methods", async () => {
  const app = new App();
  app.route("/cache", { methods: ["GET", "PURGE", "M-SEARCH"] }, async ({ method }) => method);
  await using client = new TestClient(app);
  for (const method of ["GET", "PURGE", "M-SEARCH"]) {
    assertEquals(await client.request(method, "/cache").json(), method);
  }
  assertEquals((await client.post("/cache")).status, 405);
});

Deno.test("route() takes the options of every route", async () => {
  const app = new App();
  app.route("/n/{n}", { methods: ["PUT"], params: { n: v.number() }, status: 202 }, async (_request, { n }) => n + 1);
  await using client = new TestClient(app);
  const response = await client.put("/n/1");
  assertEquals([response.status, await response.json()], [202, 2]);
});

Deno.test("The methods of route() are required and not empty", () => {
  const app = new App();
  const handler = async () => {};
  assertThrows(() => app.route("/x", {} as Untyped, handler), TypeError, "methods");
  assertThrows(() => app.route("/x", { methods: [] }, handler), TypeError, "methods");
  assertThrows(() => app.route("/x", { methods: "GET" } as Untyped, handler), TypeError, "methods");
  assertThrows(() => (app.route as Untyped)("/x", handler), TypeError);
  assertEquals(app.routes, []);
});

Deno.test("The methods of route() are upper-cased, and one that is named twice counts once", async () => {
  const app = new App();
  app.route("/x", { methods: ["get", "Get", "purge"] }, async ({ method }) => method);
  assertEquals(app.routes.map(({ method }) => method), ["GET", "PURGE"]);
  await using client = new TestClient(app);
  assertEquals(await client.request("PURGE", "/x").json(), "PURGE");
});

Deno.test("A method that HTTP cannot name is an error, and nothing is registered", () => {
  const app = new App();
  for (const method of ["", "A B", "GET,POST", "GÉT", "A\r\nB"]) {
    assertThrows(() => app.route("/x", { methods: ["GET", method] }, async () => {}), TypeError);
  }
  assertEquals(app.routes, []);
});

Deno.test("A HEAD route registered through route() wins over the automatic one", async () => {
  const app = new App();
  app.get("/x", async () => "body");
  app.route("/x", { methods: ["HEAD"] }, async () => new Response(null, { headers: { "x-by": "head" } }));
  await using client = new TestClient(app);
  assertEquals((await client.head("/x")).headers.get("x-by"), "head");
  assertEquals(await client.get("/x").json(), "body");
});

Deno.test("An OPTIONS route registered through route() wins over the automatic refusal", async () => {
  const app = new App();
  app.get("/x", async () => "body");
  app.route("/x", { methods: ["OPTIONS"] }, async () => ({ methods: ["GET"] }));
  await using client = new TestClient(app);
  assertEquals(await client.request("OPTIONS", "/x").json(), { methods: ["GET"] });
});

Deno.test("fetch is an own property, and can be called without its App and without a socket", async () => {
  const app = new App();
  app.get("/x", async () => 1);
  assert(Object.hasOwn(app, "fetch"));
  const { fetch } = app;
  const response = await fetch(new Request("http://localhost/x"));
  assertEquals(await response.json(), 1);
});

Deno.test("fetch has two parameters, and serves as a handler of Deno.serve, whatever the options", async () => {
  const all: readonly AppOptions[] = [{}, { log: () => {} }, { readyUrl: "/ready" }, {
    log: () => {},
    readyUrl: "/ready",
  }];
  for (const options of all) {
    const app = new App(options);
    app.get("/", async (request) => request.url.pathname);
    assertEquals(app.fetch.length, 2);
    const bound = app.fetch.bind(app);
    for (const serving of [{ handler: app.fetch }, { handler: bound }, app.fetch]) {
      const listen = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
      await using server = typeof serving === "function"
        ? Deno.serve(listen, serving)
        : Deno.serve({ ...listen, ...serving });
      const response = await fetch(`http://127.0.0.1:${server.addr.port}/`);
      assertEquals([response.status, await response.json()], [200, "/"], JSON.stringify(Object.keys(options)));
    }
    await app.stop();
  }
});

Deno.test("The path of an App's verb starts with a slash", () => {
  const app = new App();
  for (const path of ["", "x", "{x}", "x/y", "http://x/y"]) {
    assertEquals(assertThrows(() => app.get(path, async () => {}), RouteError).code, "path", path);
  }
  assertEquals(app.routes, []);
});

Deno.test("routes lists the flat table: method, full path, operationId and options of each route", () => {
  const app = new App();
  const id = v.number();
  app.get("/books/{id}", { params: { id }, tags: ["books"] }, async function getBook() {});
  const router = new Router({ prefix: "/shops" });
  const inner = new Router({ prefix: "/{shop}" });
  inner.post("", { status: 201 }, async function addShop() {});
  router.include(inner, { prefix: "/eu" });
  app.include(router, { prefix: "/v1" });
  assertEquals(
    app.routes.map(({ method, path, operationId, options }) => ({ method, path, operationId, options })),
    [
      { method: "GET", path: "/books/{id}", operationId: "getBook", options: { params: { id }, tags: ["books"] } },
      { method: "POST", path: "/v1/shops/eu/{shop}", operationId: "addShop", options: { status: 201 } },
    ],
  );
});

Deno.test("routes is read-only: changing the list, or the options of a route, changes nothing that is served", async () => {
  const app = new App();
  const options = { status: 201 };
  app.post("/x", options, async () => "made");
  options.status = 500;
  (app.routes as Untyped[]).length = 0;
  assertEquals(app.routes.length, 1);
  assertThrows(() => (app.routes[0]!.options as Untyped).status = 500, TypeError);
  assertEquals(app.routes[0]!.options.status, 201);
  await using client = new TestClient(app);
  assertEquals((await client.post("/x")).status, 201);
});

Deno.test("The routes of two calls are the same records", () => {
  const app = new App();
  app.get("/x", async () => {});
  assertStrictEquals(app.routes[0], app.routes[0]);
});

Deno.test("operationId is the handler's name, else made from method and path", () => {
  const app = new App();
  async function listBooks() {}
  app.get("/books", listBooks);
  app.get("/books/{id}", async () => {});
  app.delete("/books/{id}/author-names", async () => {});
  app.get("/", async () => {});
  app.put("/named", { operationId: "named" }, async function other() {});
  const ids = app.routes.map(({ operationId }) => operationId);
  assertEquals(ids.slice(0, 2), ["listBooks", "getBooksId"]);
  assertEquals(ids[4], "named");
  for (const id of ids) assert(/^\w+$/.test(id), id);
});

Deno.test("Derived operationIds get a number where they are taken, also by one that is declared later", () => {
  const app = new App();
  async function read() {}
  app.get("/a", read);
  app.get("/b", read);
  app.get("/c", { operationId: "read" }, async () => {});
  const ids = app.routes.map(({ operationId }) => operationId);
  assertEquals(new Set(ids).size, 3);
  assertEquals(ids[2], "read");
  for (const id of ids) assert(/^read\d*$/.test(id), id);
});

Deno.test("An operationId of a route with several methods is that of the first one; the others get other names", () => {
  const app = new App();
  app.route("/a", { methods: ["GET", "PUT", "PURGE"], operationId: "handleA" }, async () => {});
  const ids = app.routes.map(({ operationId }) => operationId);
  assertEquals([ids[0], new Set(ids).size], ["handleA", 3]);
});

Deno.test("The same explicit operationId twice is a RouteError with code conflict", () => {
  const app = new App();
  app.get("/a", { operationId: "same" }, async () => {});
  const error = assertThrows(() => app.get("/b", { operationId: "same" }, async () => {}), RouteError, "same");
  assertEquals(error.code, "conflict");
  const router = new Router();
  router.get("/c", { operationId: "same" }, async () => {});
  router.get("/d", async () => {});
  assertEquals(assertThrows(() => app.include(router), RouteError).code, "conflict");
  assertEquals(app.routes.length, 1);
});

Deno.test("Once the app serves, its routes are frozen: a declaration throws, and is not served", async () => {
  const app = new App();
  app.get("/x", async () => 1);
  await using client = new TestClient(app);
  await client.get("/x");
  const handler = async () => 2;
  const late = new Router();
  late.get("/late", handler);
  const attempts: Record<string, () => void> = {
    get: () => app.get("/late", handler),
    post: () => app.post("/late", handler),
    put: () => app.put("/late", handler),
    patch: () => app.patch("/late", handler),
    delete: () => app.delete("/late", handler),
    route: () => app.route("/late", { methods: ["GET"] }, handler),
    include: () => app.include(late),
    middleware: () => app.middleware(async (request, next) => await next(request)),
    lifespan: () =>
      app.lifespan(async function* () {
        yield;
      }),
    onError: () => app.onError(() => new Response("late")),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    assertEquals(assertThrows(attempt, RouteError, undefined, name).code, "frozen", name);
  }
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    assertEquals((await client.request(method, "/late")).status, 404, method);
  }
  late.get("/still-open", handler);
});

Deno.test("A request reaches its app by request.app", async () => {
  const app = new App({ title: "Books", version: "3.0.0", description: "All of them" });
  app.get("/", async ({ app }) => [app.title, app.version, app.description, app.routes.length]);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), ["Books", "3.0.0", "All of them", 1]);
});

Deno.test("Two apps of one program share nothing", async () => {
  const [one, two] = [new App(), new App()];
  one.get("/x", async () => 1);
  two.get("/x", async () => 2);
  two.middleware(async (request, next) => {
    const response = await next(request);
    response.headers.set("x-two", "yes");
    return response;
  });
  await using first = new TestClient(one);
  await using second = new TestClient(two);
  assertEquals(await first.get("/x").json(), 1);
  assertEquals(await second.get("/x").json(), 2);
  assertFalse((await first.get("/x")).headers.has("x-two"));
});
