// The type of a model follows from its schema.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(v.object({ title: v.string(), note: v.optional(v.string()) }), v.title("Book"));
const Author = v.pipe(v.object({ name: v.string(), books: v.optional(v.array(Book), []) }), v.title("Author"));
type Author = v.InferOutput<typeof Author>;

const authors: Author[] = [{ name: "Jane Austen", books: [{ title: "Emma" }] }];

const app = new App();
app.post("/authors/{name}/books", { body: v.array(Book), response: Author }, async (_request, { name, body }) => {
  return { name, books: body };
});
app.get("/authors", { response: v.array(Author) }, async () => authors);

Deno.test("dataclasses: models in models, as bodies and replies", async () => {
  await using client = new TestClient(app);
  const json = [{ title: "Middlemarch", note: "Long" }];
  assertEquals(await client.post("/authors/George Eliot/books", { json }).json(), {
    name: "George Eliot",
    books: json,
  });
  assertEquals(await client.get("/authors").json(), [{ name: "Jane Austen", books: [{ title: "Emma" }] }]);
});
