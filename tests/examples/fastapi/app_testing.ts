// Tests of routes, lifespans and WebSockets.
import { App, HTTPError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const books = new Map<string, string>();

const app = new App();
app.lifespan(async function* () {
  books.set("emma", "Emma");
  yield {};
  books.clear();
});
app.get("/books/{id}", { headers: { "x-token": v.literal("mellon") } }, async (_request, { id }) => {
  const title = books.get(id);
  if (title === undefined) throw new HTTPError(404, "No such book");
  return { id, title };
});
app.websocket("/hello", {}, async (socket) => await socket.send("Hello"));

Deno.test("testing: routes, with headers and errors", async () => {
  await using client = new TestClient(app, { headers: { "x-token": "mellon" } });
  assertEquals(await client.get("/books/emma").json(), { id: "emma", title: "Emma" });
  assertEquals((await client.get("/books/ulysses").problem(404)).detail, "No such book");
  await client.get("/books/emma", { headers: { "x-token": "guess" } }).problem(422);
  await using socket = await client.websocket("/hello");
  assertEquals(await socket.receive(), "Hello");
});

Deno.test("testing: the lifespan has ended with the client", () => assertEquals(books.size, 0));
