// Bounds of numbers, titles of parameters.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Id = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(9999), v.title("The id of the book"));
const Size = v.pipe(v.number(), v.gtValue(0), v.ltValue(2.5));

const app = new App();
app.get("/books/{id}", { params: { id: Id }, query: { size: Size } }, async (_request, { id, size }) => ({ id, size }));

Deno.test("path params, numeric validations: bounds are checked, and are in the document", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books/9999?size=2.4").json(), { id: 9999, size: 2.4 });
  const { errors } = await client.get("/books/0?size=2.5").problem(422);
  assertEquals(errors.map(({ path }) => path), [["id"], ["size"]]);
  const [id, size] = app.openapi().paths["/books/{id}"]!.get!.parameters!;
  assert(id && "schema" in id && size && "schema" in size);
  assertEquals([id.schema!.minimum, id.schema!.maximum, id.schema!.title], [1, 9999, "The id of the book"]);
  assertEquals([size.schema!.exclusiveMinimum, size.schema!.exclusiveMaximum], [0, 2.5]);
});
