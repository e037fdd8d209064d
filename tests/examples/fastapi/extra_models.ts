// Models that share fields, and replies that are one of several models.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Base = v.object({ name: v.string(), email: v.string() });
const NewUser = v.object({ ...Base.entries, password: v.string() });
const Stored = v.object({ ...Base.entries, hash: v.string() });

const Plane = v.pipe(v.object({ type: v.literal("plane"), size: v.number() }), v.title("Plane"));
const Car = v.pipe(v.object({ type: v.literal("car"), doors: v.number() }), v.title("Car"));
const vehicles: v.InferInput<typeof Plane | typeof Car>[] = [{ type: "car", doors: 4 }, { type: "plane", size: 5 }];

const app = new App();
app.post("/users", { body: NewUser, response: Base }, async (_request, { body: { password, ...user } }) => {
  const stored: v.InferOutput<typeof Stored> = { ...user, hash: `hash of ${password.length}` };
  const reply: v.InferOutput<typeof Base> = stored;
  return reply;
});
app.get("/vehicles/{index}", {
  params: { index: v.picklist(["0", "1"]) },
  response: v.variant("type", [Plane, Car]),
}, async (_request, { index }) => vehicles[Number(index)]!);
app.get("/vehicles", { response: v.array(v.variant("type", [Plane, Car])) }, async () => vehicles);
app.get("/weights", { response: v.record(v.string(), v.number()) }, async () => ({ emma: 0.4 }));

Deno.test("extra models: shared fields, one of several models, arrays, and objects with any keys", async () => {
  await using client = new TestClient(app);
  const json = { name: "Ada", email: "ada@books.example", password: "mellon" };
  assertEquals(await client.post("/users", { json }).json(), { name: "Ada", email: "ada@books.example" });
  assertEquals(await client.get("/vehicles/1").json(), { type: "plane", size: 5 });
  assertEquals(await client.get("/vehicles").json(), [{ type: "car", doors: 4 }, { type: "plane", size: 5 }]);
  assertEquals(await client.get("/weights").json(), { emma: 0.4 });
  const { schemas } = app.openapi().components;
  assert(schemas!.Plane && schemas!.Car);
});
