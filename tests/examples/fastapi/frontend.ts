// The build of a page, with a page for unknown paths, and one for errors.
import { App, html, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

// A folder that does not exist would be an error at the start.
const folder = await Deno.makeTempDir();
await Deno.writeTextFile(`${folder}/index.html`, "<h1>The page</h1>");
await Deno.writeTextFile(`${folder}/404.html`, "<h1>Not found</h1>");
Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

const app = new App();
app.get("/api/books", async () => ["Emma"]);
app.files("/", folder, { spa: "index.html" });

const inner = new App();
const page = new Router();
page.files("/", folder);
inner.include(page, { prefix: "/app" });
inner.onError(async (error, request) => {
  if (error.status !== 404 || !request.headers.get("accept")?.includes("text/html")) return undefined;
  return html(await Deno.readTextFile(`${folder}/404.html`), { status: 404 });
});

const headers = { accept: "text/html" };

Deno.test("frontend: routes come first, then files, then the page", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/api/books").json(), ["Emma"]);
  assertEquals(await client.get("/").text(), "<h1>The page</h1>");
  assertEquals(await client.get("/cart/7", { headers }).text(), "<h1>The page</h1>");
  await client.get("/cart/7.js").problem(404);
});

Deno.test("frontend: below the prefix of a router, and with a page for errors", async () => {
  await using client = new TestClient(inner);
  assertEquals(await client.get("/app/").text(), "<h1>The page</h1>");
  const missing = await client.get("/app/cart", { headers });
  assertEquals([missing.status, await missing.text()], [404, "<h1>Not found</h1>"]);
});
