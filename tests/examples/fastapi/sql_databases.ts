// A table, with models for input, output and changes.
import { App, HTTPError, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { DatabaseSync } from "node:sqlite";

const Base = v.object({ title: v.pipe(v.string(), v.nonEmpty()), price: v.number() });
const NewBook = v.pipe(v.object({ ...Base.entries, cost: v.number() }), v.title("NewBook"));
const Book = v.pipe(v.object({ id: v.number(), ...Base.entries }), v.title("Book"));
type Book = v.InferOutput<typeof Book>;

const state = stateType<{ database: DatabaseSync }>();
const page = { offset: v.optional(v.number(), 0), limit: v.optional(v.pipe(v.number(), v.maxValue(100)), 100) };
const id = v.pipe(v.number(), v.integer());

const app = new App({ state });
app.lifespan(async function* () {
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, price REAL, cost REAL)");
  yield { database };
});
const find = (database: DatabaseSync, id: number) => {
  const row = database.prepare("SELECT * FROM books WHERE id = ?").get(id);
  if (!row) throw new HTTPError(404, "No such book");
  return row as Book;
};
app.post("/books", { body: NewBook, response: Book, status: 201 }, async ({ state: { database } }, { body }) => {
  const insert = database.prepare("INSERT INTO books (title, price, cost) VALUES (?, ?, ?)");
  return find(database, Number(insert.run(body.title, body.price, body.cost).lastInsertRowid));
});
app.get("/books", { query: page, response: v.array(Book) }, async ({ state: { database } }, { offset, limit }) => {
  return database.prepare("SELECT * FROM books LIMIT ? OFFSET ?").all(limit, offset) as Book[];
});
app.get("/books/{id}", { params: { id }, response: Book }, async ({ state }, { id }) => find(state.database, id));
app.patch("/books/{id}", {
  params: { id },
  body: v.partial(Base),
  response: Book,
}, async ({ state: { database } }, { id, body }) => {
  const book = find(database, id);
  const { title = book.title, price = book.price } = body;
  database.prepare("UPDATE books SET title = ?, price = ? WHERE id = ?").run(title, price, id);
  return find(database, id);
});
app.delete("/books/{id}", { params: { id }, status: 204 }, async ({ state: { database } }, { id }) => {
  find(database, id);
  database.prepare("DELETE FROM books WHERE id = ?").run(id);
});

Deno.test("SQL databases: rows are added, listed, changed and deleted, and their cost is never sent", async () => {
  await using client = new TestClient(app);
  const emma = { id: 1, title: "Emma", price: 12 };
  const added = await client.post("/books", { json: { title: "Emma", price: 12, cost: 7 } });
  assertEquals([added.status, await added.json()], [201, emma]);
  assertEquals(await client.get("/books?limit=1").json(), [emma]);
  assertEquals(await client.patch("/books/1", { json: { price: 9 } }).json(), { ...emma, price: 9 });
  assertEquals((await client.delete("/books/1")).status, 204);
  await client.get("/books/1").problem(404);
});
