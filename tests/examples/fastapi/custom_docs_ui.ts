// A documentation page of one's own, beside the built-in one, which needs no other server.
import { App, Html } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertStringIncludes } from "@std/assert";

const app = new App();
app.get("/books", async () => []);
app.get("/redoc", { hidden: true, response: Html() }, async () =>
  `<!doctype html>
<title>Books</title>
<redoc spec-url="openapi.json"></redoc>
<script src="https://cdn.example/redoc.standalone.js"></script>`);

Deno.test("custom docs UI: the built-in page loads nothing from elsewhere, and another one is a route", async () => {
  await using client = new TestClient(app);
  const page = await client.get("/docs").text();
  assertEquals(/(?:src|href)="https?:/.test(page), false);
  assertStringIncludes(await client.get("/redoc").text(), 'spec-url="openapi.json"');
  assertEquals(Object.keys(app.openapi().paths), ["/books"]);
});
