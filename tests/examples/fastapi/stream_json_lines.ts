// Values of a model, one a line, as they are made.
import { App, JsonLines } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.object({ title: v.string() });

const app = new App();
app.get("/books", { response: JsonLines(Book) }, async function* () {
  for (const title of ["Emma", "Ulysses"]) yield { title };
});
app.get("/any", async function* () {
  yield 1;
  yield "two";
});

Deno.test("stream JSON lines: each value is a line", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books").text(), '{"title":"Emma"}\n{"title":"Ulysses"}\n');
  assertEquals(await client.get("/any").text(), '1\n"two"\n');
});
