// Files and other fields in one form.
import { App, Form, UploadFile } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
const Upload = v.object({ text: UploadFile, cover: UploadFile, key: v.string() });
app.post("/files", { form: Form(Upload) }, async (_request, { form }) => {
  return { size: form.text.size, type: form.cover.type, key: form.key };
});

Deno.test("request forms and files: files and other fields in one form", async () => {
  await using client = new TestClient(app);
  const body = new FormData();
  body.append("text", new File(["Emma"], "emma.txt"));
  body.append("cover", new File(["png"], "cover.png", { type: "image/png" }));
  body.append("key", "k-1");
  assertEquals(await client.post("/files", { body }).json(), { size: 4, type: "image/png", key: "k-1" });
  const { content } = app.openapi().paths["/files"]!.post!.requestBody as { content: object };
  assertEquals(Object.keys(content), ["multipart/form-data"]);
});
