// An application of another framework below a path.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import { Hono } from "npm:hono@^4";

const old = new Hono();
old.get("/", (context) => context.text(`Hello, ${context.req.query("name") ?? "World"}`));

const app = new App();
app.get("/v2", async () => ({ message: "Hello" }));
app.mount("/v1", (request) => old.fetch(request));

Deno.test("WSGI: an application of another framework is mounted", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/v1?name=Ada").text(), "Hello, Ada");
  assertEquals(await client.get("/v2").json(), { message: "Hello" });
});
