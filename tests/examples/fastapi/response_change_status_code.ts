// A handler chooses the status of its reply.
import { App, Replies, reply } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const tasks = new Map([["emma", "Read Emma"]]);

const app = new App();
app.put("/tasks/{id}", { response: Replies({ 200: v.string(), 201: v.string() }) }, async (_request, { id }) => {
  const task = tasks.get(id);
  if (task !== undefined) return task;
  tasks.set(id, "A new task");
  return reply(201, "A new task");
});

Deno.test("response, change status code: 200 unless the handler says otherwise", async () => {
  await using client = new TestClient(app);
  const put = async (id: string) => (await client.put(`/tasks/${id}`)).status;
  assertEquals([await put("emma"), await put("ulysses"), await put("ulysses")], [200, 201, 200]);
});
