// A model as the body, with parameters of the path and the query beside it.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(
  v.object({ title: v.string(), price: v.number(), discount: v.optional(v.nullable(v.number())) }),
  v.title("Book"),
);

const app = new App();
app.put("/books/{id}", {
  params: { id: v.number() },
  query: { note: v.optional(v.string()) },
  body: Book,
}, async (_request, { id, note, body }) => ({ id, note, ...body, total: body.price - (body.discount ?? 0) }));

Deno.test("body: a model, with parameters of the path and the query beside it", async () => {
  await using client = new TestClient(app);
  const json = { title: "Emma", price: 10, discount: 0.5 };
  assertEquals(await client.put("/books/3?note=new", { json }).json(), { id: 3, note: "new", ...json, total: 9.5 });
  const { errors } = await client.put("/books/3", { json: { title: 1 } }).problem(422);
  assertEquals(errors.map(({ path }) => path), [["title"], ["price"]]);
});
