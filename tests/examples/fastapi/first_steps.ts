// One route, its document and its page.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertStringIncludes } from "@std/assert";

const app = new App({ title: "Books" });
app.get("/", async () => ({ message: "Hello" }));

Deno.test("first steps: a route replies, and is in the document and on the page", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), { message: "Hello" });
  const document = await client.get("/openapi.json").json<{ info: unknown; paths: object }>();
  assertEquals(document.info, { title: "Books", version: "0.1.0" });
  assertEquals(Object.keys(document.paths), ["/"]);
  assertStringIncludes(await client.get("/docs").text(), "swagger-ui");
});
