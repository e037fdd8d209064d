// Several models in one body, and a model under its name.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.object({ title: v.string() });
const Buyer = v.object({ name: v.string() });
const Copies = v.pipe(v.number(), v.integer(), v.gtValue(0));

const app = new App();
app.put("/books/{id}", {
  params: { id: v.number() },
  query: { q: v.optional(v.string()) },
  body: v.object({ book: Book, buyer: Buyer, copies: Copies }),
}, async (_request, { id, q, body: { book, buyer, copies } }) => ({ id, q, book, buyer, copies }));
app.post("/books", { body: v.object({ book: Book }) }, async (_request, { body }) => body.book);

Deno.test("body, multiple params: several models in one body, and a model under its name", async () => {
  await using client = new TestClient(app);
  const json = { book: { title: "Emma" }, buyer: { name: "Ada" }, copies: 5 };
  assertEquals(await client.put("/books/3?q=x", { json }).json(), { id: 3, q: "x", ...json });
  const { errors } = await client.put("/books/3", { json: { book: {}, copies: 0 } }).problem(422);
  assertEquals(errors.map(({ path }) => path.join(".")), ["book.title", "buyer", "copies"]);
  assertEquals(await client.post("/books", { json: { book: { title: "Emma" } } }).json(), { title: "Emma" });
});
