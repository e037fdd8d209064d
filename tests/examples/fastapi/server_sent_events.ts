// Events with names and ids, text as it is, a resumed stream, and events as the reply to a body.
import { App, Events, SSE } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const titles = ["Emma", "Middlemarch", "Ulysses"];

const app = new App();
app.get("/books", { response: Events(v.object({ title: v.string() })) }, async (request) => {
  const first = request.lastEventId === null ? 0 : Number(request.lastEventId) + 1;
  return SSE(async function* () {
    for (const [index, title] of titles.entries()) {
      if (index >= first) yield { event: "book", id: String(index), retry: 5000, data: { title } };
    }
  }());
});
app.post("/words", { body: v.object({ text: v.string() }) }, async (_request, { body }) =>
  SSE(
    async function* () {
      for (const word of body.text.split(" ")) yield { event: "token", data: word };
      yield { event: "done", data: "[DONE]" };
    }(),
    { encode: "text" },
  ));

Deno.test("server-sent events: names, ids, and a stream that resumes", async () => {
  await using client = new TestClient(app);
  const read = async (headers: HeadersInit) => {
    const events = await Array.fromAsync(client.events("/books", { headers }));
    return events.map((event) => event.gap ? null : [event.type, event.id, event.data]);
  };
  assertEquals((await read({})).length, 3);
  assertEquals(await read({ "last-event-id": "1" }), [["book", "2", { title: "Ulysses" }]]);
});

Deno.test("server-sent events: text as it is, as the reply to a body", async () => {
  await using client = new TestClient(app);
  assertEquals(
    await client.post("/words", { json: { text: "Hello Ada" } }).text(),
    "event: token\ndata: Hello\n\nevent: token\ndata: Ada\n\nevent: done\ndata: [DONE]\n\n",
  );
});
