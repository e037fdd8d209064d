// Bytes in JSON, as base64.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Bytes64 = v.pipe(v.string(), v.base64(), v.transform((text) => Uint8Array.fromBase64(text)));
const Base64 = v.pipe(v.instance(Uint8Array), v.transform((bytes) => bytes.toBase64()), v.string());

const app = new App();
app.post("/data", {
  body: v.object({ note: v.string(), data: Bytes64 }),
  response: v.object({ text: v.string(), data: Base64 }),
}, async (_request, { body }) => ({ text: new TextDecoder().decode(body.data), data: body.data }));

Deno.test("bytes in JSON: decoded in a body, encoded in a reply", async () => {
  await using client = new TestClient(app);
  const json = { note: "A title", data: "RW1tYQ==" };
  assertEquals(await client.post("/data", { json }).json(), { text: "Emma", data: "RW1tYQ==" });
  await client.post("/data", { json: { ...json, data: "?" } }).problem(422);
  const { PostDataBody } = app.openapi().components.schemas!;
  assertEquals(PostDataBody!.properties!.data, { type: "string", contentEncoding: "base64" });
});
