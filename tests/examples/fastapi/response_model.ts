// A reply has only the fields of its model.
import { App, redirect } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const User = v.object({ name: v.string(), email: v.pipe(v.string(), v.email()) });
const NewUser = v.object({ ...User.entries, password: v.string() });
type User = v.InferOutput<typeof User>;

const Book = v.object({
  title: v.string(),
  price: v.number(),
  discount: v.optional(v.number()),
  tags: v.array(v.string()),
});
type Book = v.InferOutput<typeof Book>;

const app = new App();
app.post("/users", { body: NewUser, response: User }, async (_request, { body }) => {
  const user: User = body;
  return user;
});

const book: Book = { title: "Emma", price: 12, tags: [] };
app.get("/book", { response: Book }, async () => book);
app.get("/book/title", { response: v.pick(Book, ["title"]) }, async (): Promise<Pick<Book, "title">> => book);
app.get("/book/public", { response: v.omit(Book, ["discount"]) }, async (): Promise<Omit<Book, "discount">> => book);
app.get("/newest", { query: { open: v.optional(v.boolean()) } }, async (_request, { open }) => {
  return open ? redirect("/book") : { title: "Emma" };
});

Deno.test("response model: a reply has only the fields of its model, and no absent ones", async () => {
  await using client = new TestClient(app);
  const json = { name: "Ada", email: "ada@books.example", password: "mellon" };
  assertEquals(await client.post("/users", { json }).json(), { name: "Ada", email: "ada@books.example" });
  assertEquals(await client.get("/book").json(), { title: "Emma", price: 12, tags: [] });
  assertEquals(await client.get("/book/title").json(), { title: "Emma" });
  assertEquals(await client.get("/book/public").json(), { title: "Emma", price: 12, tags: [] });
  assertEquals(await client.get("/newest").json(), { title: "Emma" });
  assertEquals((await client.get("/newest?open=true")).status, 303);
});
