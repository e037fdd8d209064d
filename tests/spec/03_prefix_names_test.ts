// Sections 3 and 4 of the contract: parameters in the prefixes of routers and includes.

import { assertEquals, assertThrows } from "@std/assert";
import { App, RouteError, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

// deno-lint-ignore no-explicit-any -- a declaration whose mistake TypeScript would find
type Untyped = any;

Deno.test("The names of a router's prefix are arguments of its handlers like any other", async () => {
  const router = new Router({ prefix: "/shops/{shop}" });
  router.get("", { params: { shop: v.number() } }, async (_request, args) => args);
  router.get("/books/{id}", { params: { id: v.number() } }, async (_request, args) => args);
  const app = new App();
  app.include(router);
  await using client = new TestClient(app);
  assertEquals(await client.get("/shops/7").json(), { shop: 7 });
  assertEquals(await client.get("/shops/7/books/8").json(), { shop: "7", id: 8 });
  assertEquals((await client.get("/shops/x").problem(422)).errors[0]!.in, "path");
});

Deno.test("The names of an include's prefix are bound as strings", async () => {
  const router = new Router({ prefix: "/{b}" });
  router.get("/{c}", async (_request, args) => args);
  const app = new App();
  app.include(router, { prefix: "/{a}" });
  await using client = new TestClient(app);
  assertEquals(await client.get("/1/2/3").json<unknown>(), { a: "1", b: "2", c: "3" });
});

Deno.test("A name declared under query is rebound to the path of an include that contains it", async () => {
  const router = new Router();
  router.get(
    "/books",
    { query: { shop: v.number(), page: v.optional(v.number(), 1) } },
    async (_request, args) => args,
  );
  const app = new App();
  app.include(router, { prefix: "/shops/{shop}" });
  app.include(router, { prefix: "/all" });
  await using client = new TestClient(app);
  assertEquals(await client.get("/shops/7/books?shop=8&page=2").json(), { shop: 7, page: 2 });
  assertEquals(await client.get("/all/books?shop=8").json(), { shop: 8, page: 1 });
  const { errors } = await client.get("/shops/x/books?shop=8").problem(422);
  assertEquals(errors.map((issue) => [issue.in, issue.path]), [["path", ["shop"]]]);
});

Deno.test("A name of the route's own path cannot be declared under query", () => {
  const app = new App();
  assertThrows(() => app.get("/{id}", { query: { id: v.string() } } as Untyped, async () => {}), RouteError, "id");
});

Deno.test("params with a name that the path lacks are an error at registration", () => {
  for (const { get } of [new App(), new Router({ prefix: "/{shop}" })] as Untyped[]) {
    assertThrows(() => get("/x/{id}", { params: { isbn: v.string() } }, async () => {}), RouteError, "isbn");
  }
});
