// One schema for several query parameters, which may refuse others.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Page = v.strictObject({
  count: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(50)), 20),
  sort: v.optional(v.picklist(["title", "price"]), "title"),
  shelf: v.optional(v.array(v.string()), []),
});

const app = new App();
app.get("/books", { query: Page }, async (_request, page) => page);

Deno.test("query param models: one schema has all parameters, and refuses others", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books?shelf=new&shelf=used").json(), {
    count: 20,
    sort: "title",
    shelf: ["new", "used"],
  });
  const { errors } = await client.get("/books?count=51&page=2").problem(422);
  assertEquals(errors.map(({ path }) => path[0]).toSorted(), ["count", "page"]);
});
