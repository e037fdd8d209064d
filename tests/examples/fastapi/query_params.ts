// Defaults, optional and required parameters, booleans.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.get("/shops/{shop}/books", {
  query: {
    first: v.optional(v.number(), 0),
    count: v.optional(v.number(), 10),
    q: v.optional(v.string()),
    short: v.optional(v.boolean(), false),
    language: v.string(),
  },
}, async (_request, args) => args);

Deno.test("query params: defaults, optional and required ones, booleans", async () => {
  await using client = new TestClient(app);
  const books = (query: Record<string, string | number>) => client.get("/shops/corner/books", { query });
  const defaults = { shop: "corner", first: 0, count: 10, short: false, language: "en" };
  assertEquals(await books({ language: "en" }).json(), defaults);
  const given = { language: "en", first: 20, q: "emma", short: "true" };
  assertEquals(await books(given).json(), { ...defaults, first: 20, q: "emma", short: true });
  const { errors } = await books({ short: "maybe" }).problem(422);
  assertEquals(errors.map(({ path, code }) => [...path, code]), [["short", "invalid"], ["language", "missing"]]);
});
