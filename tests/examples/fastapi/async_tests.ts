// A test is async anyway, and awaits other things than the client.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const app = new App();
const visits = { count: 0 };
app.get("/", async () => ({ visits: ++visits.count }));

Deno.test("async tests: a test sends requests at the same time, and awaits other things", async () => {
  await using client = new TestClient(app);
  const replies = await Promise.all([client.get("/").json(), client.get("/").json()]);
  assertEquals(replies, [{ visits: 1 }, { visits: 2 }]);
  assertEquals(await Promise.resolve(visits.count), 2);
});
