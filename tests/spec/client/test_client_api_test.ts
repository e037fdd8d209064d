// "`new TestClient<typeof api>(app)` has `client.api`, the client of section 2 over `app.fetch`".

import { assertEquals, assertRejects } from "@std/assert";
import { App, dependency, Events, SSE } from "@webfw/core";
import { ProblemError } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

const Book = v.object({ id: v.number(), title: v.string() });

/** An application, and what a module would export of it. */
function shop() {
  const getDb = dependency(async (): Promise<{ titleOf(id: number): string | undefined }> => {
    throw new Error("There is no database");
  });
  const app = new App();
  const getBook = app.get("/books/{id}", { params: { id: v.number() }, deps: { getDb }, response: Book }, async (
    _request,
    { id, getDb },
  ) => ({ id, title: getDb.titleOf(id) ?? "none" }));
  const addBook = app.post("/books", { body: Book, response: Book, status: 201 }, async (_request, { body }) => body);
  const setTheme = app.put("/theme", async (request): Promise<void> => {
    request.setCookie({ name: "theme", value: "dark" });
  });
  const getSent = app.get("/sent", { response: v.unknown() }, async ({ headers }) => {
    return [headers.get("cookie"), headers.get("x-a"), headers.get("x-b")];
  });
  return { app, getDb, api: { getBook, addBook, setTheme, getSent } };
}

type Api = ReturnType<typeof shop>["api"];

Deno.test("client.api calls typed routes over the application, with its replacements", async () => {
  const { app, getDb } = shop();
  const client: TestClient<Api> = new TestClient(app, { override: [[getDb, async () => ({ titleOf: () => "Emma" })]] });
  const { title } = await client.api.get("/books/{id}", { id: 7 });
  assertEquals(title.toUpperCase(), "EMMA");
  assertEquals(await client.api.post("/books", { body: { id: 1, title: "Persuasion" } }), {
    id: 1,
    title: "Persuasion",
  });
  const invalid = { id: "x", title: "" } as unknown as v.InferInput<typeof Book>;
  const error = await assertRejects(() => client.api.post("/books", { body: invalid }), ProblemError);
  assertEquals([error.status, error.issues?.length], [422, 1]);
  await client.close();
});

Deno.test("client.api shares the headers and the cookies of the client", async () => {
  const { app } = shop();
  await using client = new TestClient<Api>(app, { cookies: true, headers: { "x-a": "1", "x-b": "2" } });
  await client.api.put("/theme");
  assertEquals(await client.api.get("/sent", {}, { headers: { "x-b": "3" } }), ["theme=dark", "1", "3"]);
  assertEquals(await client.get("/sent").json(), ["theme=dark", "1", "2"]);
});

Deno.test("client.api is under the base, and starts and ends with the client", async () => {
  const { app } = shop();
  const notes: string[] = [];
  app.lifespan(async function* () {
    notes.push("starts");
    yield;
    notes.push("ends");
  });
  const outer = { fetch: (request: Request) => app.fetch(new Request(request.url.replace("/v1", ""), request)) };
  {
    await using client = new TestClient<Api>(outer, { base: "http://localhost/v1" });
    assertEquals(await client.api.get("/sent"), [null, null, null]);
  }
  await app.stop();
  {
    await using client = new TestClient<Api>(app);
    await client.api.get("/sent");
    assertEquals(notes, ["starts", "ends", "starts"]);
    await client.close();
    assertEquals(notes.length, 4);
    await client.api.get("/sent");
  }
  assertEquals(notes.length, 6);
});

Deno.test("client.api listens to events and opens WebSockets without a socket, and they end with the client", async () => {
  const Said = v.object({ text: v.string() });
  const app = new App();
  const orders = app.topic("orders", { schema: v.object({ item: v.string() }) });
  const ends: unknown[] = [];
  const subscribed = Promise.withResolvers<void>();
  const orderEvents = app.get("/orders", { response: Events(orders) }, async () => {
    subscribed.resolve();
    return SSE(orders.subscribe());
  });
  const talk = app.websocket("/rooms/{room}", { receive: Said, send: Said }, async (socket, { room }) => {
    for await (const { text } of socket) await socket.send({ text: `${text}, ${room}` });
    ends.push(room);
  });
  const api = { orderEvents, talk };
  await using client = new TestClient<typeof api>(app);
  const events = client.api.events("/orders");
  const reading = events.next();
  const socket = await client.api.websocket("/rooms/{room}", { room: "a" });
  await socket.send({ text: "Hello" });
  for await (const { text } of socket) {
    assertEquals(text, "Hello, a");
    break;
  }
  const refused = client.api as unknown as { websocket(path: string): Promise<unknown> };
  const error = await assertRejects(() => refused.websocket("/nothing"), ProblemError);
  assertEquals(error.status, 404);
  await subscribed.promise;
  await orders.publish({ item: "Tea" });
  const { value } = await reading;
  assertEquals(value && !value.gap ? value.data : value, { item: "Tea" });
  const rest = Array.fromAsync(events);
  await client.close();
  assertEquals(await rest, []);
  assertEquals(ends, ["a"]);
});
