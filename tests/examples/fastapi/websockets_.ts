// Messages in both directions, guards before the socket opens, and a room of several clients.
import { anySecurity, App } from "@webfw/core";
import { apiKey } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const user = anySecurity(
  apiKey(async (key) => key, { in: "cookie", name: "session" }),
  apiKey(async (key) => key, { in: "query", name: "token", scheme: "token" }),
);

const app = new App();
app.websocket("/echo", {}, async (socket) => {
  for await (const text of socket) await socket.send(`Echo: ${text}`);
});
app.websocket(
  "/books/{id}",
  { query: { q: v.optional(v.number()) }, deps: { user } },
  async (socket, { id, q, user }) => {
    for await (const text of socket) await socket.send(`${user} on ${id}, ${q}: ${text}`);
  },
);

const room = app.topic("room", { schema: v.string() });
app.websocket("/room/{name}", { receive: v.string(), send: v.string() }, async (socket, { name }) => {
  const messages = room.subscribe({ signal: socket.signal });
  const send = async () => {
    for await (const message of messages) if (!("gap" in message)) await socket.send(message.data);
  };
  const receive = async () => {
    for await (const text of socket) await room.publish(`${name}: ${text}`);
    await room.publish(`${name} has gone`);
  };
  await Promise.all([send(), receive()]);
});

Deno.test("websockets: an echo, and a guard with parameters", async () => {
  await using client = new TestClient(app);
  await using echo = await client.websocket("/echo");
  await echo.send("Hello");
  assertEquals(await echo.receive(), "Echo: Hello");
  await client.websocket("/books/emma").problem(401);
  await using books = await client.websocket("/books/emma?token=ada&q=3");
  await books.send("Hello");
  assertEquals(await books.receive(), "ada on emma, 3: Hello");
});

Deno.test("websockets: a room in which each client gets all messages", async () => {
  await using client = new TestClient(app);
  const schemas = { receive: v.string(), send: v.string() };
  await using ada = await client.websocket("/room/ada", schemas);
  await ada.send("Good morning");
  assertEquals(await ada.receive(), "ada: Good morning");
  {
    await using bob = await client.websocket("/room/bob", schemas);
    await bob.send("Hello");
    assertEquals([await ada.receive(), await bob.receive()], ["bob: Hello", "bob: Hello"]);
  }
  assertEquals(await ada.receive(), "bob has gone");
});
