// The fields of a form.
import { App, Form } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
const Login = v.object({ username: v.string(), password: v.string() });
app.post("/login", { form: Form(Login) }, async (_request, { form }) => ({ username: form.username }));

Deno.test("request forms: the fields of a form", async () => {
  await using client = new TestClient(app);
  const body = new URLSearchParams({ username: "ada", password: "mellon" });
  assertEquals(await client.post("/login", { body }).json(), { username: "ada" });
  await client.post("/login", { json: { username: "ada" } }).problem(415);
});
