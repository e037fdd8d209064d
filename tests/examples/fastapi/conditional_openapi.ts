// A document that a setting turns off.
import { App, settings } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Settings = v.object({ OPENAPI_URL: v.optional(v.string(), "/openapi.json") });

function makeApp(env: Record<string, string>) {
  const { OPENAPI_URL } = settings(Settings, { env });
  const app = new App({ openapiUrl: OPENAPI_URL || null });
  app.get("/", async () => "Hello");
  return app;
}

Deno.test("conditional OpenAPI: a setting turns the document and the page off", async () => {
  await using shown = new TestClient(makeApp({}));
  assertEquals((await shown.get("/openapi.json")).status, 200);
  await using hidden = new TestClient(makeApp({ OPENAPI_URL: "" }));
  for (const path of ["/openapi.json", "/docs"]) await hidden.get(path).problem(404);
  assertEquals(await hidden.get("/").json(), "Hello");
});
