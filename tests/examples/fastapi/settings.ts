// Settings from the environment, and other ones in a test.
import { App, dependency, settings } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertThrows } from "@std/assert";
import * as v from "valibot";

const Settings = v.object({
  SHOP_NAME: v.optional(v.string(), "Books"),
  OWNER_EMAIL: v.pipe(v.string(), v.email()),
  MAX_COPIES: v.optional(v.number(), 20),
});
const config = dependency(async () => settings(Settings, { env: { OWNER_EMAIL: "ada@books.example" } }));

const app = new App();
app.get("/info", { deps: { config } }, async (_request, { config }) => config);

Deno.test("settings: typed and validated, with defaults", async () => {
  await using client = new TestClient(app);
  const defaults = { SHOP_NAME: "Books", OWNER_EMAIL: "ada@books.example", MAX_COPIES: 20 };
  assertEquals(await client.get("/info").json(), defaults);
  assertThrows(() => settings(Settings, { env: { MAX_COPIES: "many" } }), Error, "OWNER_EMAIL");
});

Deno.test("settings: a test replaces them", async () => {
  const other = { SHOP_NAME: "A test", OWNER_EMAIL: "test@books.example", MAX_COPIES: 1 };
  await using client = new TestClient(app, { override: [[config, async () => other]] });
  assertEquals(await client.get("/info").json(), other);
});
