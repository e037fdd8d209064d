// A handler chooses the status of its reply.
import { App, Replies, reply } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const notes = new Map([["emma", "On page 7"]]);

const app = new App();
app.put("/notes/{id}", { response: Replies({ 200: v.string(), 201: v.string() }) }, async (_request, { id }) => {
  const note = notes.get(id);
  if (note !== undefined) return note;
  notes.set(id, "A new note");
  return reply(201, "A new note");
});

Deno.test("response, change status code: 200 unless the handler says otherwise", async () => {
  await using client = new TestClient(app);
  const put = async (id: string) => (await client.put(`/notes/${id}`)).status;
  assertEquals([await put("emma"), await put("ulysses"), await put("ulysses")], [200, 201, 200]);
});
