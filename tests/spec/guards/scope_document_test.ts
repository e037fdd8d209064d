// Section 1 of the contract of guards, in the document: "Everything here is declared once, and from
// that come the check, the types, the document, the page and the tools."

import { assert, assertEquals } from "@std/assert";
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
