// A Response of one's own.
import { App, Text } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.put("/events/{id}", { body: v.object({ at: v.pipe(v.string(), v.isoTimestamp(), v.toDate()) }) }, async (
  _request,
  { body },
) => Response.json(body));
app.get("/feed", { response: Text("application/xml") }, async () => "<feed><title>Books</title></feed>");

Deno.test("response directly: a Response is sent as it is, and so is text of another type", async () => {
  await using client = new TestClient(app);
  const json = { at: "2026-11-28T10:00:00Z" };
  assertEquals(await client.put("/events/7", { json }).json(), { at: "2026-11-28T10:00:00.000Z" });
  const feed = await client.get("/feed");
  assertEquals(feed.headers.get("content-type")?.split(";")[0], "application/xml");
});
