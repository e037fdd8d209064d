// One schema for several headers, which may refuse others that begin with "x-".
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Common = v.strictObject({
  "x-tenant": v.string(),
  "x-dry-run": v.optional(v.boolean(), false),
  "x-tag": v.optional(v.array(v.string()), []),
});

const app = new App();
app.get("/books", { headers: Common }, async (_request, { headers }) => headers);

Deno.test("header param models: one schema has all headers, and refuses others", async () => {
  await using client = new TestClient(app);
  const headers = { "x-tenant": "corner", "x-dry-run": "true", "x-tag": "new" };
  assertEquals(await client.get("/books", { headers }).json(), {
    "x-tenant": "corner",
    "x-dry-run": true,
    "x-tag": ["new"],
  });
  const { errors } = await client.get("/books", { headers: { ...headers, "x-page": "2" } }).problem(422);
  assertEquals(errors.map(({ in: source, path }) => [source, ...path]), [["header", "x-page"]]);
});
