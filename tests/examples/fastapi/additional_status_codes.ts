// Two statuses of a success, with a model each.
import { App, Replies, reply } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(v.object({ title: v.string(), copies: v.number() }), v.title("Book"));
const books = new Map([["emma", { title: "Emma", copies: 6 }]]);

const app = new App();
app.put("/books/{id}", { body: Book, response: Replies({ 200: Book, 201: Book }) }, async (_request, { id, body }) => {
  const isNew = !books.has(id);
  books.set(id, body);
  return isNew ? reply(201, body) : body;
});

Deno.test("additional status codes: 201 for a new thing, 200 for a changed one", async () => {
  await using client = new TestClient(app);
  const json = { title: "Ulysses", copies: 3 };
  const put = async () => (await client.put("/books/ulysses", { json })).status;
  assertEquals([await put(), await put()], [201, 200]);
});
