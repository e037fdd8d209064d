// What is opened before the first request, and closed after the last.
import { App, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const log: string[] = [];
const state = stateType<{ model: (x: number) => number }>();

const app = new App({ state });
app.lifespan(async function* () {
  log.push("opened");
  yield { model: (x: number) => x * 42 };
  log.push("closed");
});
app.get("/predict", { query: { x: v.number() } }, async (request, { x }) => request.state.model(x));

Deno.test("events: a lifespan opens before the first request, and closes after the last", async () => {
  {
    await using client = new TestClient(app);
    assertEquals(await client.get("/predict?x=2").json(), 84);
    assertEquals(log, ["opened"]);
  }
  assertEquals(log, ["opened", "closed"]);
});
