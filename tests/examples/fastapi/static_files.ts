// A folder of files.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const folder = await Deno.makeTempDir();
await Deno.writeTextFile(`${folder}/style.css`, "h1 { color: teal }");
Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

const app = new App();
app.files("/static", folder);

Deno.test("static files: with their type, and 304 if they have not changed", async () => {
  await using client = new TestClient(app);
  const reply = await client.get("/static/style.css");
  assertEquals(reply.headers.get("content-type")?.split(";")[0], "text/css");
  const headers = { "if-none-match": reply.headers.get("etag")! };
  assertEquals((await client.get("/static/style.css", { headers })).status, 304);
});
