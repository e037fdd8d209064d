// Replacing a thing with PUT, and changing some fields with PATCH.
import { App, HTTPError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.object({ title: v.string(), price: v.number(), copies: v.optional(v.number(), 1) });
const Change = v.partial(v.object({ title: v.string(), price: v.number(), copies: v.number() }));

const app = new App();
const books = new Map([["emma", { title: "Emma", price: 12, copies: 20 }]]);
const find = (id: string) => {
  const book = books.get(id);
  if (!book) throw new HTTPError(404, "No such book");
  return book;
};
app.put("/books/{id}", { body: Book, response: Book }, async (_request, { id, body }) => {
  books.set(id, body);
  return body;
});
app.patch("/books/{id}", { body: Change, response: Book }, async (_request, { id, body }) => {
  const changed: v.InferInput<typeof Book> = Object.assign(find(id), body);
  return changed;
});

Deno.test("body, updates: PUT has defaults, PATCH leaves what was not sent", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.patch("/books/emma", { json: { price: 9 } }).json(), {
    title: "Emma",
    price: 9,
    copies: 20,
  });
  const json = { title: "Emma", price: 8 };
  assertEquals(await client.put("/books/emma", { json }).json(), { ...json, copies: 1 });
  await client.patch("/books/ulysses", { json }).problem(404);
});
