// The application that takes uploads. `main.ts` runs it in its own process and measures its memory.

import { App, Form, Stream, UploadFile } from "@webfw/core";
import * as v from "valibot";

const GIBIBYTE = 2 ** 30;

const app = new App({ limits: { multipart: 2 * GIBIBYTE, readTimeout: "10m" } });
const form = Form(v.object({ file: UploadFile }));
app.post("/form", { form }, async (_request, { form: { file } }) => file.size);
app.post("/stalled", { form, limits: { readTimeout: 1_000 } }, async () => "never");
app.post("/small", { form, limits: { multipart: GIBIBYTE / 16 } }, async () => "never");
app.post("/stream", { body: Stream() }, async (_request, { body }) => {
  let size = 0;
  for await (const chunk of body) size += chunk.length;
  return size;
});
app.post("/back", { form }, async (_request, { form: { file } }) => file);

await app.run({ port: 0, onListen: ({ port }) => console.log(`port ${port}`) });
