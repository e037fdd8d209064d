// Examples of models, fields and bodies.
import { App } from "@webfw/core";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(
  v.object({ title: v.pipe(v.string(), v.examples(["Emma"])), price: v.number() }),
  v.title("Book"),
  v.examples([{ title: "Emma", price: 12 }]),
);

const app = new App();
app.post("/books", {
  body: Book,
  examples: {
    body: {
      usual: { summary: "A usual book", value: { title: "Emma", price: 12 } },
      wrong: { summary: "A refused one", value: { title: "Emma", price: "cheap" } },
    },
  },
}, async (_request, { body }) => body);

Deno.test("schema, extra example: of a field, of a model, and named ones of a body", () => {
  const { components, paths } = app.openapi();
  const book = components.schemas!.Book!;
  assertEquals(book.examples, [{ title: "Emma", price: 12 }]);
  assertEquals(book.properties!.title, { type: "string", examples: ["Emma"] });
  const { content } = paths["/books"]!.post!.requestBody!;
  assertEquals(Object.keys(content["application/json"]!.examples!), ["usual", "wrong"]);
});
