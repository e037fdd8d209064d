// The status of a success.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const app = new App();
app.post("/books", { status: 201 }, async () => ({ title: "Emma" }));

Deno.test("response status code: the status of a success is declared", async () => {
  await using client = new TestClient(app);
  assertEquals((await client.post("/books")).status, 201);
  assertEquals(Object.keys(app.openapi().paths["/books"]!.post!.responses)[0], "201");
});
