// Rules and descriptions of the fields of a body.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.object({
  title: v.pipe(v.string(), v.maxLength(120), v.title("The title"), v.description("As on the cover")),
  price: v.pipe(v.number(), v.gtValue(0), v.description("More than zero")),
});

const app = new App();
app.post("/books", { body: Book }, async function addBook(_request, { body }) {
  return body;
});

Deno.test("body fields: rules and descriptions of each field", async () => {
  await using client = new TestClient(app);
  const { errors } = await client.post("/books", { json: { title: "Emma", price: 0 } }).problem(422);
  assertEquals(errors.map(({ path }) => path), [["price"]]);
  const model = app.openapi().components.schemas!.AddBookBody!;
  assertEquals(model.properties!.title, {
    type: "string",
    maxLength: 120,
    title: "The title",
    description: "As on the cover",
  });
});
