// Types of path parameters, one of several values, and the rest of a path.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.get("/books/{id}", { params: { id: v.pipe(v.number(), v.integer()) } }, async (_request, { id }) => ({ id }));
app.get("/books/newest", async () => ({ id: "the newest" }));
app.get("/shelves/{shelf}", { params: { shelf: v.picklist(["novels", "poems"]) } }, async (_request, { shelf }) => {
  return shelf === "poems" ? "upstairs" : "downstairs";
});
app.get("/files/{path...}", async (_request, { path }) => ({ path }));

Deno.test("path params: numbers, a fixed path, one of several values, the rest of the path", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books/3").json(), { id: 3 });
  assertEquals(await client.get("/books/newest").json(), { id: "the newest" });
  const { errors } = await client.get("/books/emma").problem(422);
  assertEquals(errors.map(({ in: source, path }) => [source, ...path]), [["path", "id"]]);
  assertEquals(await client.get("/shelves/poems").json(), "upstairs");
  await client.get("/shelves/maps").problem(422);
  assertEquals(await client.get("/files/2026/report.pdf").json(), { path: "2026/report.pdf" });
});
