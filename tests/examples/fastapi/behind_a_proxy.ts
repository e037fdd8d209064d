// A prefix that a proxy strips, the scheme and host of the client, the servers of the document.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const app = new App({ trustProxy: 1, hosts: ["books.example"] });
app.get("/books", async (request) => ({ basePath: request.basePath, url: request.url.href }));

const fixed = new App({ basePath: "/shop", servers: [{ url: "https://stage.example", description: "A stage" }] });
fixed.get("/books", async (request) => request.basePath);

Deno.test("behind a proxy: prefix, scheme and host come from the proxy", async () => {
  await using client = new TestClient(app, {
    base: "http://books.example",
    headers: { "x-forwarded-prefix": "/shop", "x-forwarded-proto": "https" },
  });
  assertEquals(await client.get("/books").json(), { basePath: "/shop", url: "https://books.example/books" });
  const { servers } = await client.get("/openapi.json").json<{ servers: { url: string }[] }>();
  assertEquals(servers.map(({ url }) => new URL(url, "https://books.example").pathname), ["/shop"]);
});

Deno.test("behind a proxy: a declared prefix, and declared servers", async () => {
  await using client = new TestClient(fixed);
  assertEquals(await client.get("/books").json(), "/shop");
  assertEquals(fixed.openapi().servers, [{ url: "https://stage.example", description: "A stage" }]);
});
