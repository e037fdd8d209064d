// Settings from the environment, and other ones in a test.
import { App, dependency, settings } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertThrows } from "@std/assert";
import * as v from "valibot";

const Settings = v.object({
  APP_NAME: v.optional(v.string(), "Books"),
  ADMIN_EMAIL: v.pipe(v.string(), v.email()),
  MAX_BOOKS: v.optional(v.number(), 50),
});
const config = dependency(async () => settings(Settings, { env: { ADMIN_EMAIL: "ada@books.example" } }));

const app = new App();
app.get("/info", { deps: { config } }, async (_request, { config }) => config);

Deno.test("settings: typed and validated, with defaults", async () => {
  await using client = new TestClient(app);
  const defaults = { APP_NAME: "Books", ADMIN_EMAIL: "ada@books.example", MAX_BOOKS: 50 };
  assertEquals(await client.get("/info").json(), defaults);
  assertThrows(() => settings(Settings, { env: { MAX_BOOKS: "many" } }), Error, "ADMIN_EMAIL");
});

Deno.test("settings: a test replaces them", async () => {
  const other = { APP_NAME: "A test", ADMIN_EMAIL: "test@books.example", MAX_BOOKS: 1 };
  await using client = new TestClient(app, { override: [[config, async () => other]] });
  assertEquals(await client.get("/info").json(), other);
});
