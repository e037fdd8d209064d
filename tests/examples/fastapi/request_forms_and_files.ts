// Files and other fields in one form.
import { App, Form, UploadFile } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
const Upload = v.object({ file: UploadFile, picture: UploadFile, token: v.string() });
app.post("/files", { form: Form(Upload) }, async (_request, { form }) => {
  return { size: form.file.size, type: form.picture.type, token: form.token };
});

Deno.test("request forms and files: files and other fields in one form", async () => {
  await using client = new TestClient(app);
  const body = new FormData();
  body.append("file", new File(["Emma"], "emma.txt"));
  body.append("picture", new File(["png"], "cover.png", { type: "image/png" }));
  body.append("token", "t-1");
  assertEquals(await client.post("/files", { body }).json(), { size: 4, type: "image/png", token: "t-1" });
  const { content } = app.openapi().paths["/files"]!.post!.requestBody as { content: object };
  assertEquals(Object.keys(content), ["multipart/form-data"]);
});
