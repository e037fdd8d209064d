// Compressed bodies, the body of an invalid request, the time that a router takes.
import { App, Router, ValidationError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Numbers = v.array(v.number());
const app = new App({ limits: { decompress: true } });
app.post("/total", { body: Numbers }, async (_request, { body }) => body.reduce((sum, number) => sum + number, 0));

const refused: string[] = [];
app.onError(async (error, request) => {
  if (error instanceof ValidationError) refused.push(await request.text());
  return undefined;
});

const measured = new Router();
measured.middleware(async (request, next) => {
  const start = performance.now();
  const response = await next(request);
  response.headers.set("x-response-time", String(performance.now() - start));
  return response;
});
measured.get("/measured", async () => "done");
app.include(measured);
app.get("/plain", async () => "done");

Deno.test("custom request and route: gzip, the body of an invalid request, a measured router", async () => {
  await using client = new TestClient(app);
  const body = await new Response(new Blob(["[1, 2, 3]"]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  assertEquals(await client.post("/total", { body, headers }).json(), 6);
  await client.post("/total", { json: ["one"] }).problem(422);
  assertEquals(refused, ['["one"]']);
  assert(Number((await client.get("/measured")).headers.get("x-response-time")) >= 0);
  assertEquals((await client.get("/plain")).headers.has("x-response-time"), false);
});
