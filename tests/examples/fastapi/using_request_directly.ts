// The request, with what is not declared.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const app = new App();
app.get(
  "/books/{id}",
  async (request, { id }) => ({ id, client: request.remoteAddress, agent: request.headers.get("user-agent") }),
);

Deno.test("using the request directly: the address of the client, and any header", async () => {
  await using client = new TestClient(app, { address: "203.0.113.7", headers: { "user-agent": "tests" } });
  assertEquals(await client.get("/books/7").json(), { id: "7", client: "203.0.113.7", agent: "tests" });
});
