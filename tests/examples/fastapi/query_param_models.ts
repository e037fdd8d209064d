// One schema for several query parameters, which may refuse others.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Page = v.strictObject({
  limit: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(100)), 100),
  order: v.optional(v.picklist(["title", "price"]), "title"),
  tags: v.optional(v.array(v.string()), []),
});

const app = new App();
app.get("/books", { query: Page }, async (_request, page) => page);

Deno.test("query param models: one schema has all parameters, and refuses others", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books?tags=new&tags=used").json(), {
    limit: 100,
    order: "title",
    tags: ["new", "used"],
  });
  const { errors } = await client.get("/books?limit=101&tool=plumbus").problem(422);
  assertEquals(errors.map(({ path }) => path[0]).toSorted(), ["limit", "tool"]);
});
