// Names of operations and models for generated clients, and a client without generated code.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(v.object({ title: v.string(), price: v.number() }), v.title("Book"));
const app = new App();
const addBook = app.post("/books", { tags: ["books"], body: Book, status: 201 }, async function addBook() {});
const listBooks = app.get("/books", { tags: ["books"], response: v.array(Book) }, async function listBooks() {
  return [{ title: "Emma", price: 12 }];
});
const api = { app, addBook, listBooks };

Deno.test("generate clients: handlers name operations, and v.title() names models", () => {
  const { get, post } = app.openapi().paths["/books"]!;
  assertEquals([get!.operationId, post!.operationId, get!.tags], ["listBooks", "addBook", ["books"]]);
  assert(app.openapi().components.schemas!.Book);
});

Deno.test("generate clients: the typed client calls routes by their types", async () => {
  await using client = new TestClient<typeof api>(app);
  await client.api.post("/books", { body: { title: "Ulysses", price: 20 } });
  const [book] = await client.api.get("/books");
  assertEquals(book?.title satisfies string | undefined, "Emma");
});
