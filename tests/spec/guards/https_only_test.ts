// HTTPS only: a redirect that cannot be turned to another host or stored, and no secret is repeated.
import { assertEquals, assertThrows } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { httpsOnly } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";

function service(options: AppOptions = {}): App {
  const app = new App({ readyUrl: "/ready", ...options });
  app.middleware(httpsOnly("books.example:8443"));
  app.get("/{path...}", async () => "page");
  app.post("/books", { status: 204 }, async () => {});
  return app;
}

Deno.test("httpsOnly: GET and HEAD are redirected to its host, with path and query as they were sent", async () => {
  await using client = new TestClient(service());
  for (const method of ["GET", "HEAD"]) {
    const { status, headers } = await client.request(method, "/a%20b//c?q=%26&q");
    assertEquals([status, headers.get("location")], [308, "https://books.example:8443/a%20b//c?q=%26&q"]);
    assertEquals(headers.get("cache-control"), "no-store");
  }
});

Deno.test("httpsOnly: a path with two slashes leads to no other host", async () => {
  const response = await service().fetch(new Request("http://localhost//attacker.example/x"));
  assertEquals(response.headers.get("location"), "https://books.example:8443//attacker.example/x");
});

Deno.test("httpsOnly: other methods are refused, and readyUrl is answered over HTTP", async () => {
  await using client = new TestClient(service());
  const { detail } = await client.post("/books").problem(403);
  assertEquals(detail, "Send this request over HTTPS");
  assertEquals((await client.get("/ready")).status, 200);
});

Deno.test("httpsOnly: behind a trusted proxy, the scheme and prefix of the client count", async () => {
  await using client = new TestClient(service({ trustProxy: 1 }));
  const secure = await client.get("/books", { headers: { "x-forwarded-proto": "https" } });
  assertEquals(secure.status, 200);
  const headers = { "x-forwarded-proto": "http", "x-forwarded-prefix": "/shop" };
  const moved = await client.get("/books", { headers });
  assertEquals(moved.headers.get("location"), "https://books.example:8443/shop/books");
});

Deno.test("httpsOnly: what is no host is a TypeError", () => {
  for (const host of ["", "https://books.example", "books.example/", "a@b.example", "Books.example", undefined, 1]) {
    assertThrows(() => httpsOnly(host as string), TypeError, "Cannot make httpsOnly(): ");
  }
});
