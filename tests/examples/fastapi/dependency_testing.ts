// A test replaces a dependency.
import { App, dependency } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const search = dependency(
  { query: { q: v.string() } },
  async (_request, { q }): Promise<{ q: string; first: number }> => {
    return { q, first: 0 };
  },
);

const app = new App();
app.get("/books", { deps: { search } }, async (_request, { search }) => search);

Deno.test("dependency testing: a replaced dependency needs no parameters", async () => {
  await using client = new TestClient(app, { override: [[search, async () => ({ q: "fake", first: 5 })]] });
  assertEquals(await client.get("/books").json(), { q: "fake", first: 5 });
  await using plain = new TestClient(app);
  await plain.get("/books").problem(422);
});
