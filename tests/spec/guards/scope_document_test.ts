// Section 1 of the contract of guards, in the document: "Everything here is declared once, and from
// that come the check, the types, the document, the page and the tools."

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, dependency, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import * as v from "valibot";

const user = bearer(async () => "Ada");
const tenant = dependency(
  { headers: { "x-tenant": v.string() }, query: { region: v.optional(v.string()) } },
  async () => 1,
);

Deno.test("The security, parameters and refusals of a scope's `deps` are on each operation of the scope", () => {
  const app = new App({ deps: { tenant } });
  const admin = new Router({ prefix: "/admin/{region}", deps: { user } });
  admin.get("/users", { query: { page: v.optional(v.string()) } }, async () => []);
  app.get("/", async () => 1);
  app.include(admin);
  const { paths, components } = app.openapi();
  const parametersOf = (path: string) => paths[path]!.get!.parameters?.map((each) => `${each.in} ${each.name}`);
  assertEquals(parametersOf("/"), ["query region", "header x-tenant"]);
  assertEquals(parametersOf("/admin/{region}/users"), ["path region", "query page", "header x-tenant"]);
  assertEquals(paths["/"]?.get?.security, undefined);
  const { security, responses } = paths["/admin/{region}/users"]!.get!;
  assertEquals(security, [{ bearer: [] }]);
  assert(responses[401] && responses[422]);
  assertEquals(Object.keys(components.securitySchemes!), ["bearer"]);
});

Deno.test("A router that is included twice, once behind a guard, has its security only there", () => {
  const books = new Router({ prefix: "/books" });
  books.get("", { tool: true }, async () => []);
  const app = new App();
  app.include(books, { prefix: "/open" });
  app.include(books, { prefix: "/closed", deps: { user } });
  const { paths } = app.openapi();
  assertEquals(paths["/open/books"]?.get?.security, undefined);
  assertEquals(paths["/open/books"]?.get?.responses[401], undefined);
  assertEquals(paths["/closed/books"]?.get?.security, [{ bearer: [] }]);
});

Deno.test("`deprecated` of a router or an include holds for its routes, unless an inner one takes it back", () => {
  const books = new Router({ prefix: "/books" });
  books.get("", async () => []);
  books.get("/new", { deprecated: false }, async () => []);
  const old = new Router({ prefix: "/old", deprecated: true });
  old.get("", async () => []);
  const app = new App();
  app.include(books, { prefix: "/v1", deprecated: true });
  app.include(books, { prefix: "/v2" });
  app.include(old);
  const { paths } = app.openapi();
  assertEquals(Object.keys(paths).filter((path) => paths[path]?.get?.deprecated), ["/v1/books", "/old"]);
  assertEquals(app.routes.find(({ path }) => path === "/v1/books")?.options.deprecated, true);
  // A declaration whose mistake the compiler would find.
  const wrong = { deprecated: "yes" as unknown as boolean };
  assertThrows(() => new Router(wrong), TypeError, '"deprecated" must be true or false, got "yes"');
  assertThrows(() => new App().get("/", wrong, async () => []), TypeError, '"deprecated" must be true or false');
});

Deno.test("Query parameters of a scope's `deps` are arguments of its tools", async () => {
  const app = new App({ deps: { tenant } });
  app.get("/books", { tool: true }, async function listBooks() {
    return [];
  });
  const reply = await app.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    }),
  );
  const { result } = await reply.json();
  assertEquals(Object.keys(result.tools[0].inputSchema.properties), ["region"]);
});
