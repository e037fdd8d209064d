// Values become JSON by JSON.stringify, and by the model of a reply.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Event = v.object({ title: v.string(), at: v.pipe(v.string(), v.isoTimestamp(), v.toDate()) });
const stored = new Map<string, string>();

const app = new App();
app.put("/events/{id}", { body: Event, status: 204 }, async (_request, { id, body }) => {
  stored.set(id, JSON.stringify(body));
});

Deno.test("encoder: a value with a date is stored as JSON", async () => {
  await using client = new TestClient(app);
  await client.put("/events/7", { json: { title: "Fair", at: "2026-11-28T10:00:00Z" } });
  assertEquals(stored.get("7"), '{"title":"Fair","at":"2026-11-28T10:00:00.000Z"}');
});
