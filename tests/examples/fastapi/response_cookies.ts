// Cookies of a reply.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.post("/session", async (request) => {
  request.setCookie({ name: "visit", value: "v-1" });
  return { message: "Take the cookie" };
});
app.get("/session", { cookies: { visit: v.optional(v.string()) } }, async (_request, { cookies }) => cookies);

Deno.test("response cookies: a cookie of a reply comes back", async () => {
  await using client = new TestClient(app, { cookies: true });
  assertEquals(await client.post("/session").json(), { message: "Take the cookie" });
  assertEquals(await client.get("/session").json(), { visit: "v-1" });
});
