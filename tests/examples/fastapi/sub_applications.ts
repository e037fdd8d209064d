// An application below a path of another one, with a document of its own.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const inner = new App({ title: "Inner" });
inner.get("/orders", async (request) => request.basePath);

const app = new App({ title: "Outer" });
app.get("/hello", async () => "outer");
app.mount("/shop", inner);

Deno.test("sub applications: each has its routes and its document", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/shop/orders").json(), "/shop");
  const titleOf = async (path: string) => (await client.get(path).json<{ info: { title: string } }>()).info.title;
  assertEquals([await titleOf("/openapi.json"), await titleOf("/shop/openapi.json")], ["Outer", "Inner"]);
});
