// JSON without a content type, which old clients send.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.post("/books", { body: v.object({ title: v.string() }) }, async (_request, { body }) => body.title);

/** What serves, in place of the application: `export default { fetch }`. */
function fetch(request: Request): Promise<Response> {
  if (!request.body || request.headers.has("content-type")) return app.fetch(request);
  const headers = new Headers(request.headers);
  headers.set("content-type", "application/json");
  return app.fetch(new Request(request, { headers }));
}

Deno.test("strict content type: JSON without a content type is refused, unless it gets one", async () => {
  const body = new TextEncoder().encode('{ "title": "Emma" }');
  const request = () => new Request("http://localhost/books", { method: "POST", body });
  await using client = new TestClient(app);
  await client.post("/books", { body }).problem(415);
  const reply = await fetch(request());
  assertEquals([reply.status, await reply.json()], [200, "Emma"]);
});
