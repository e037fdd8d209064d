// Errors with headers, errors of one's own, and another format of errors.
import { App, HTTPError, ValidationError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

class SoldOut extends Error {
  override name = "SoldOut";
}

const app = new App();
app.get("/books/{id}", { params: { id: v.number() } }, async (_request, { id }) => {
  if (id === 0) throw new HTTPError(404, "No such book", { headers: { "x-reason": "sold" } });
  if (id === 1) throw new SoldOut();
  return { id };
});

const custom = new App();
custom.onError(async (error, request) => {
  if (error.cause instanceof SoldOut) return Response.json({ message: "Sold out" }, { status: 409 });
  if (error instanceof ValidationError) {
    return Response.json({ errors: error.issues, body: await request.json() }, { status: 422 });
  }
  return undefined;
});
custom.get("/sold", async () => {
  throw new SoldOut();
});
custom.post("/books", { body: v.object({ size: v.number() }) }, async () => {});

Deno.test("handling errors: an error has a status, a detail and headers", async () => {
  await using client = new TestClient(app);
  const reply = await client.get("/books/0");
  assertEquals([reply.status, reply.headers.get("x-reason")], [404, "sold"]);
  assertEquals((await client.get("/books/emma").problem(422)).errors.length, 1);
});

Deno.test("handling errors: errors of one's own, and the body in the reply to an invalid request", async () => {
  await using client = new TestClient(custom);
  const sold = await client.get("/sold");
  assertEquals([sold.status, await sold.json()], [409, { message: "Sold out" }]);
  const invalid = await client.post("/books", { json: { size: "XL" } });
  const { errors, body } = await invalid.json() as { errors: { path: string[] }[]; body: unknown };
  assertEquals([invalid.status, errors[0]?.path, body], [422, ["size"], { size: "XL" }]);
  assertEquals((await client.get("/nothing").problem(404)).title, "Not Found");
});
