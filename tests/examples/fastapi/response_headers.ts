// Headers of a reply.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const app = new App();
app.get("/books", async (request) => {
  request.replyHeaders.set("x-total", "42");
  return { message: "Hello" };
});
app.get("/direct", async () => Response.json({}, { headers: { "x-total": "7" } }));

Deno.test("response headers: beside a model, and of a Response", async () => {
  await using client = new TestClient(app);
  const total = async (path: string) => (await client.get(path)).headers.get("x-total");
  assertEquals([await total("/books"), await total("/direct")], ["42", "7"]);
});
