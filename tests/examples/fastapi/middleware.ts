// Code around each request.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert } from "@std/assert";

const app = new App();
app.middleware(async (request, next) => {
  const start = performance.now();
  const response = await next(request);
  response.headers.set("x-process-time", String(performance.now() - start));
  return response;
});
app.get("/", async () => "Hello");

Deno.test("middleware: each reply has a header, also errors", async () => {
  await using client = new TestClient(app);
  for (const path of ["/", "/nothing"]) assert((await client.get(path)).headers.has("x-process-time"), path);
});
