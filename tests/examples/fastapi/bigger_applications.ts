// Routers with prefixes, tags and guards, in files of their own.
import { App, HTTPError, Problem, Router } from "@webfw/core";
import { apiKey } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const token = apiKey(async (key) => key === "mellon", { in: "header", name: "x-token" });
const query = apiKey(async (key) => key === "k-17", { in: "query", name: "token", scheme: "query" });

// books.ts
const books = new Router({ prefix: "/books", tags: ["books"], deps: { token }, responses: { 404: Problem } });
books.get("/{id}", async (_request, { id }) => {
  if (id !== "emma") throw new HTTPError(404, "No such book");
  return { id };
});

// admin.ts
const admin = new Router();
admin.post("", async () => "done");

// main.ts
const app = new App({ deps: { query } });
app.include(books);
app.include(admin, { prefix: "/admin", tags: ["admin"], responses: { 503: { description: "Closed" } } });

Deno.test("bigger applications: routers have prefixes, tags, guards and replies", async () => {
  await using client = new TestClient(app);
  await client.get("/books/emma?token=k-17").problem(401);
  const headers = { "x-token": "mellon" };
  assertEquals(await client.get("/books/emma?token=k-17", { headers }).json(), { id: "emma" });
  await client.get("/books/emma", { headers }).problem(401);
  assertEquals(await client.post("/admin?token=k-17").json(), "done");
  const { paths } = app.openapi();
  const [book, done] = [paths["/books/{id}"]!.get!, paths["/admin"]!.post!];
  assertEquals([book.tags, done.tags], [["books"], ["admin"]]);
  assertEquals(["404" in book.responses, "503" in done.responses], [true, true]);
});
