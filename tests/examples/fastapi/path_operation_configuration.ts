// Status, tags, texts and deprecation of a route.
import { App } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Tag = { books: "books", users: "users" } as const;
const Book = v.object({ title: v.string() });

const app = new App();
app.post("/books", {
  status: 201,
  tags: [Tag.books],
  body: Book,
  response: Book,
  responses: { 201: { description: "The new book" } },
}, async function addBook(_request, { body }) {
  `Add a book.

  - **title**: as on the cover`;
  return body;
});
app.get("/users", { tags: [Tag.users], summary: "List all users", deprecated: true }, async () => ["Ada"]);

Deno.test("path operation configuration: status, tags, texts, deprecation", () => {
  const { paths } = app.openapi();
  const { tags, summary, description, responses } = paths["/books"]!.post!;
  assertEquals([tags, summary, description], [["books"], "Add a book.", "- **title**: as on the cover"]);
  const reply = responses["201"]!;
  assert("description" in reply);
  assertEquals(reply.description, "The new book");
  const users = paths["/users"]!.get!;
  assertEquals([users.summary, users.deprecated], ["List all users", true]);
});
