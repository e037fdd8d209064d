// Section 13 of the contract: the path syntax of other frameworks "is `RouteError` code `path`
// whose cure is `{id}` or `{path...}`".

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, RouteError, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";

const handler = async () => {};

/** A path that TypeScript does not know, as JavaScript has it. */
function path(text: string): string {
  return text;
}

Deno.test("A route in the path syntax of another framework is a RouteError that names the route and the cure", () => {
  const app = new App();
  const router = new Router({ prefix: "/v1" });
  const id = path("/books/:id");
  const table: [declare: () => void, action: string, cure: string][] = [
    [() => app.get(id, handler), 'register GET at "/books/:id"', '"{id}"'],
    [() => app.post(id, { status: 201 }, handler), 'register POST at "/books/:id"', '"{id}"'],
    [() => app.put(path("/files/*"), handler), 'register PUT at "/files/*"', '"{path...}"'],
    [() => app.patch(path("/[id]"), handler), 'register PATCH at "/[id]"', '"{id}"'],
    [() => app.delete(path("/<id>"), handler), 'register DELETE at "/<id>"', '"{id}"'],
    [() => app.route(path("/**"), { methods: ["PURGE"] }, handler), 'register PURGE at "/**"', '"{path...}"'],
    [() => app.websocket(path("/chat/:room"), handler), 'register WEBSOCKET at "/chat/:room"', '"{room}"'],
    [() => router.get(id, handler), 'register GET at "/books/:id"', '"{id}"'],
    [() => new Router({ prefix: path("/:shop") }), 'make a router at "/:shop"', '"{shop}"'],
    [() => app.include(router, { prefix: path("/:version") }), 'include a router at "/:version"', '"{version}"'],
    [() => app.get(path("/a/*/b"), handler), 'register GET at "/a/*/b"', 'write "{path}"'],
    [() => app.get(path("/a/**/b"), handler), 'register GET at "/a/**/b"', 'write "{path}"'],
    [() => app.get(path("/*/b"), handler), 'register GET at "/*/b"', 'write "{path}"'],
    [() => app.get(path("/a/*:name/b"), handler), 'register GET at "/a/*:name/b"', 'write "{name}"'],
    [() => new Router({ prefix: path("/a/*/b") }), 'make a router at "/a/*/b"', 'write "{path}"'],
    [() => new Router({ prefix: path("/a/**") }), 'make a router at "/a/**"', "leave it out"],
    [() => app.include(router, { prefix: path("/**/a") }), 'include a router at "/**/a"', 'write "{path}"'],
    [() => app.include(router, { prefix: path("/*") }), 'include a router at "/*"', "leave it out"],
    [() => app.mount(path("/a/*"), () => new Response()), 'mount a handler at "/a/*"', "leave it out"],
    [() => app.files(path("/*/a"), "."), 'serve files at "/*/a"', 'write "{path}"'],
    [() => new App({ docsUrl: "/:docs" }), 'set docsUrl at "/:docs"', '"{docs}"'],
  ];
  for (const [declare, action, cure] of table) {
    const error = assertThrows(declare, RouteError);
    assertEquals(error.code, "path");
    assertStringIncludes(error.message, `Cannot ${action}: `);
    assertStringIncludes(error.message, cure);
  }
  assertEquals(app.routes, []);
});

Deno.test("Colons, stars and brackets inside a literal segment are served as they are", async () => {
  const app = new App();
  const paths = ["/v1/books:batch", "/~user", "/@me", "/a*b", "/a[b]", "/std::vector", "/12:30"] as const;
  for (const path of paths) app.get(path, async () => path);
  await using client = new TestClient(app);
  for (const path of paths) assertEquals(await client.get(path).json(), path);
});
