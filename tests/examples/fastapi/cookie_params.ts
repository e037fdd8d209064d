// Cookies by their names.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.get("/books", { cookies: { theme: v.optional(v.string()) } }, async (_request, { cookies }) => cookies);

Deno.test("cookie params: cookies by their names", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books").json(), {});
  assertEquals(await client.get("/books", { cookies: { theme: "dark" } }).json(), { theme: "dark" });
});
