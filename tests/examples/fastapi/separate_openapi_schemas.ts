// A model with defaults has two forms in the document.
import { App } from "@webfw/core";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(v.object({ title: v.string(), note: v.optional(v.string(), "none") }), v.title("Book"));

const app = new App();
app.post("/books", { body: Book, response: Book }, async (_request, { body }) => body);

// A model without defaults has one form.
const Plain = v.pipe(v.object({ title: v.string(), note: v.optional(v.string()) }), v.title("PlainBook"));
app.post("/plain", { body: Plain, response: Plain }, async (_request, { body: { title, note = "none" } }) => {
  return { title, note };
});

Deno.test("separate OpenAPI schemas: the input may lack what the output always has", () => {
  const { Book, BookInput } = app.openapi().components.schemas!;
  assertEquals([Book!.required, BookInput!.required], [["title", "note"], ["title"]]);
  assertEquals(Object.keys(app.openapi().components.schemas!).filter((name) => name.startsWith("Plain")), [
    "PlainBook",
  ]);
});
