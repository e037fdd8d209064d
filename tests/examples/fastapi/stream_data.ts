// Text and bytes that are made while they are sent.
import { App, Bytes } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

async function* lines() {
  for (const line of ["Emma\n", "Woodhouse\n"]) yield line;
}
async function* chunks() {
  for (const byte of [0x89, 0x50]) yield new Uint8Array([byte]);
}

const app = new App();
app.get("/story", { response: Bytes("text/plain") }, async () => {
  return ReadableStream.from(lines()).pipeThrough(new TextEncoderStream());
});
app.get("/image", { response: Bytes("image/png") }, async () => ReadableStream.from(chunks()));

Deno.test("stream data: text and bytes, with their type", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/story").text(), "Emma\nWoodhouse\n");
  const image = await client.get("/image");
  assertEquals(image.headers.get("content-type"), "image/png");
  assertEquals(await image.bytes(), new Uint8Array([0x89, 0x50]));
});
