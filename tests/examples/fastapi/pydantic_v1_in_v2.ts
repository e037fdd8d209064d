// An old and a new form of a model, side by side.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const OldBook = v.pipe(v.object({ name: v.string(), size: v.number() }), v.title("OldBook"));
const Book = v.pipe(v.object({ title: v.string(), pages: v.number() }), v.title("Book"));
const FromOld = v.pipe(OldBook, v.transform(({ name, size }) => ({ title: name, pages: size })));

const app = new App();
app.post("/books", { body: FromOld, response: Book }, async (_request, { body }) => body);

Deno.test("models of two generations: the old form is accepted, the new one is sent", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.post("/books", { json: { name: "Emma", size: 474 } }).json(), {
    title: "Emma",
    pages: 474,
  });
});
