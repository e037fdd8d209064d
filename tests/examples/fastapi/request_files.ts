// One file, an optional file, several files.
import { App, Form, UploadFile } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.post("/file", { form: Form(v.object({ file: UploadFile })) }, async (_request, { form: { file } }) => {
  return { name: file.name, type: file.type, size: (await file.bytes()).length };
});
app.post("/optional", { form: Form(v.object({ file: v.optional(UploadFile) })) }, async (_request, { form }) => {
  return form.file?.name ?? "no file";
});
app.post("/files", { form: Form(v.object({ files: v.array(UploadFile) })) }, async (_request, { form }) => {
  return form.files.map(({ name }) => name);
});

Deno.test("request files: one file, an optional file, several files", async () => {
  await using client = new TestClient(app);
  const form = (...files: File[]) => {
    const body = new FormData();
    for (const file of files) body.append(files.length > 1 ? "files" : "file", file);
    return { body };
  };
  const [emma, cover] = [new File(["Emma"], "emma.txt", { type: "text/plain" }), new File(["png"], "cover.png")];
  assertEquals(await client.post("/file", form(emma)).json(), { name: "emma.txt", type: "text/plain", size: 4 });
  assertEquals(await client.post("/optional", form(emma)).json(), "emma.txt");
  assertEquals(await client.post("/optional", form()).json(), "no file");
  assertEquals(await client.post("/files", form(emma, cover)).json(), ["emma.txt", "cover.png"]);
});
