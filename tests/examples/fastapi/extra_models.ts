// Models that share fields, and replies that are one of several models.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Base = v.object({ name: v.string(), email: v.string() });
const NewUser = v.object({ ...Base.entries, password: v.string() });
const Stored = v.object({ ...Base.entries, hash: v.string() });

const Print = v.pipe(v.object({ type: v.literal("print"), pages: v.number() }), v.title("Print"));
const Audio = v.pipe(v.object({ type: v.literal("audio"), minutes: v.number() }), v.title("Audio"));
const editions: v.InferInput<typeof Print | typeof Audio>[] = [{ type: "audio", minutes: 4 }, {
  type: "print",
  pages: 5,
}];

const app = new App();
app.post("/users", { body: NewUser, response: Base }, async (_request, { body: { password, ...user } }) => {
  const stored: v.InferOutput<typeof Stored> = { ...user, hash: `hash of ${password.length}` };
  const reply: v.InferOutput<typeof Base> = stored;
  return reply;
});
app.get("/editions/{index}", {
  params: { index: v.picklist(["0", "1"]) },
  response: v.variant("type", [Print, Audio]),
}, async (_request, { index }) => editions[Number(index)]!);
app.get("/editions", { response: v.array(v.variant("type", [Print, Audio])) }, async () => editions);
app.get("/weights", { response: v.record(v.string(), v.number()) }, async () => ({ emma: 0.4 }));

Deno.test("extra models: shared fields, one of several models, arrays, and objects with any keys", async () => {
  await using client = new TestClient(app);
  const json = { name: "Ada", email: "ada@books.example", password: "mellon" };
  assertEquals(await client.post("/users", { json }).json(), { name: "Ada", email: "ada@books.example" });
  assertEquals(await client.get("/editions/1").json(), { type: "print", pages: 5 });
  assertEquals(await client.get("/editions").json(), [{ type: "audio", minutes: 4 }, { type: "print", pages: 5 }]);
  assertEquals(await client.get("/weights").json(), { emma: 0.4 });
  const { schemas } = app.openapi().components;
  assert(schemas!.Print && schemas!.Audio);
});
