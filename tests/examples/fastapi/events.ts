// What is opened before the first request, and closed after the last.
import { App, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const log: string[] = [];
const state = stateType<{ rate: number }>();

const app = new App({ state });
app.lifespan(async function* () {
  log.push("opened");
  yield { rate: 1.5 };
  log.push("closed");
});
app.get("/euros", { query: { pounds: v.number() } }, async (request, { pounds }) => pounds * request.state.rate);

Deno.test("events: a lifespan opens before the first request, and closes after the last", async () => {
  {
    await using client = new TestClient(app);
    assertEquals(await client.get("/euros?pounds=2").json(), 3);
    assertEquals(log, ["opened"]);
  }
  assertEquals(log, ["opened", "closed"]);
});
