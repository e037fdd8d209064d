// A model of a form, which may refuse other fields.
import { App, Form } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
const Login = v.strictObject({ username: v.string(), password: v.string() });
app.post("/login", { form: Form(Login) }, async (_request, { form }) => form);

Deno.test("request form models: a form with other fields is refused", async () => {
  await using client = new TestClient(app);
  const fields = { username: "ada", password: "mellon" };
  assertEquals(await client.post("/login", { body: new URLSearchParams(fields) }).json(), fields);
  const body = new URLSearchParams({ ...fields, extra: "1" });
  const { errors } = await client.post("/login", { body }).problem(422);
  assertEquals(errors.map(({ in: source, path }) => [source, ...path]), [["form", "extra"]]);
});
