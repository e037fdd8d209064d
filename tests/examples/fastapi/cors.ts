// Pages of other origins.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertStringIncludes } from "@std/assert";

const app = new App({ origins: ["https://shop.example"], cors: { credentials: true, exposeHeaders: ["x-total"] } });
app.put("/books", async (request) => request.replyHeaders.set("x-total", "7"));

Deno.test("CORS: pages of listed origins may send requests and read replies", async () => {
  await using client = new TestClient(app);
  const headers = { origin: "https://shop.example", "access-control-request-method": "PUT" };
  const preflight = await client.request("OPTIONS", "/books", { headers });
  assertEquals(preflight.status, 204);
  assertStringIncludes(preflight.headers.get("access-control-allow-methods")!, "PUT");
  const reply = await client.put("/books", { headers: { origin: "https://shop.example" } });
  assertEquals(reply.headers.get("access-control-allow-origin"), "https://shop.example");
  assertEquals(reply.headers.get("access-control-expose-headers")?.includes("x-total"), true);
  await client.put("/books", { headers: { origin: "https://attacker.example" } }).problem(403);
});
