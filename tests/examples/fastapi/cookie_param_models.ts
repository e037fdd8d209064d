// One schema for several cookies, which may refuse others.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Cookies = v.strictObject({ theme: v.string(), language: v.optional(v.string()) });

const app = new App();
app.get("/books", { cookies: Cookies }, async (_request, { cookies }) => cookies);

Deno.test("cookie param models: one schema has all cookies, and refuses others", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books", { cookies: { theme: "dark" } }).json(), { theme: "dark" });
  const { errors } = await client.get("/books", { cookies: { theme: "dark", extra: "1" } }).problem(422);
  assertEquals(errors.map(({ in: source, path }) => [source, ...path]), [["cookie", "extra"]]);
});
