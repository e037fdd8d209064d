// HTML, text, redirects, streams, files, and JSON in another format.
import { App, Bytes, file, Html, html, redirect, Text } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const movie = await Deno.makeTempFile({ suffix: ".mp4" });
await Deno.writeTextFile(movie, "frames");
Deno.test.afterAll(() => Deno.removeSync(movie));

async function* frames() {
  for (let frame = 0; frame < 3; frame++) yield new TextEncoder().encode(`frame ${frame} `);
}

const app = new App();
const page = { response: Html() };
app.get("/page", page, async () => "<h1>Books</h1>");
app.get("/other", page, async () => "<h1>More books</h1>");
app.get("/gone", async () => html("<h1>Gone</h1>", { status: 410 }));
app.get("/text", { response: Text() }, async () => "Hello");
app.get("/old", async () => redirect("/page", 302));
app.get("/stream", { response: Bytes("video/mp4") }, async () => ReadableStream.from(frames()));
app.get("/file", { response: Bytes("video/mp4") }, async () => await file(movie));
app.get("/pretty", { response: Text("application/json") }, async () => JSON.stringify({ message: "Hello" }, null, 2));

Deno.test("custom response: HTML, text, redirects, streams, files, other formats", async () => {
  await using client = new TestClient(app);
  const typeOf = async (path: string) => (await client.get(path)).headers.get("content-type")?.split(";")[0];
  assertEquals(await Promise.all(["/page", "/other", "/text"].map(typeOf)), ["text/html", "text/html", "text/plain"]);
  assertEquals((await client.get("/gone")).status, 410);
  const moved = await client.get("/old");
  assertEquals([moved.status, moved.headers.get("location")], [302, "/page"]);
  assertEquals(await client.get("/stream").text(), "frame 0 frame 1 frame 2 ");
  assertEquals([await typeOf("/file"), await client.get("/file").text()], ["video/mp4", "frames"]);
  assertEquals(await client.get("/pretty").text(), '{\n  "message": "Hello"\n}');
});
