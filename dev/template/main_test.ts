import { assertEquals } from "@std/assert";
import { TestClient } from "@webfw/core/testing";
import { app } from "./main.ts";

const authorization = `Bearer ${Deno.env.get("TOKEN")}`;

Deno.test("a new note is in the list", async () => {
  await using client = new TestClient(app, { headers: { authorization } });
  const note = await client.post("/notes", { json: { text: "Buy milk" } })
    .json();
  const notes = await client.get("/notes").json<unknown[]>();
  assertEquals(notes.at(-1), note);
});

Deno.test("a note without text is refused", async () => {
  await using client = new TestClient(app, { headers: { authorization } });
  const reply = client.post("/notes", { json: { text: " " } });
  const { errors } = await reply.problem(422);
  assertEquals(errors.map(({ path }) => path), [["text"]]);
});

Deno.test("writing a note needs the token", async () => {
  await using client = new TestClient(app);
  const json = { text: "Buy milk" };
  await client.post("/notes", { json }).problem(401);
  const headers = { authorization: "Bearer wrong" };
  await client.post("/notes", { json, headers }).problem(401);
});

Deno.test("an agent writes a note by the tool addNote", async () => {
  await using client = new TestClient(app, { headers: { authorization } });
  const note = { text: "Buy milk" };
  const params = { name: "addNote", arguments: { body: note } };
  const json = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const reply = await client.post("/mcp", { json })
    .json<{ result: { structuredContent: { text: string } } }>();
  assertEquals(reply.result.structuredContent.text, "Buy milk");
});

Deno.test("the event stream has new notes", async () => {
  await using client = new TestClient(app, { headers: { authorization } });
  const events = client.events("/notes/events");
  await events.opened();
  const note = await client.post("/notes", { json: { text: "Buy milk" } })
    .json();
  const [event] = await events.take(1);
  assertEquals(event?.data, note);
});
