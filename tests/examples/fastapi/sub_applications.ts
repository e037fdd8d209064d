// An application below a path of another one, with a document of its own.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const inner = new App({ title: "Inner" });
inner.get("/sub", async (request) => request.basePath);

const app = new App({ title: "Outer" });
app.get("/app", async () => "outer");
app.mount("/subapi", inner);

Deno.test("sub applications: each has its routes and its document", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/subapi/sub").json(), "/subapi");
  const titleOf = async (path: string) => (await client.get(path).json<{ info: { title: string } }>()).info.title;
  assertEquals([await titleOf("/openapi.json"), await titleOf("/subapi/openapi.json")], ["Outer", "Inner"]);
});
