// Forms with files, submitted by a real browser, and files that it saves.

import { assert, assertEquals } from "@std/assert";
import { App, file, Form, html, Stream, UploadFile } from "@webfw/core";
import { Buffer } from "node:buffer";
import type { Page } from "npm:playwright-core@^1.65.1";
import * as v from "valibot";
import { Serving } from "../spec/support/serving.ts";
import { TemporaryFolder } from "../spec/support/temporary_folder.ts";
import { browserTest } from "./support/browser.ts";

const PAGE = `<!doctype html><title>Upload</title>
<form method="post" enctype="multipart/form-data" action="/books">
  <input name="title"><input name="copies"><textarea name="note"></textarea>
  <input type="checkbox" name="isGift" value="true">
  <select name="tags" multiple><option>a<option>b<option>c</select>
  <input type="file" name="cover"><input type="file" name="pages" multiple>
  <button>Send</button>
</form>`;

const Book = v.object({
  title: v.string(),
  copies: v.optional(v.number()),
  note: v.optional(v.string()),
  isGift: v.optional(v.boolean(), false),
  tags: v.optional(v.array(v.string()), []),
  cover: v.optional(UploadFile),
  pages: v.optional(v.array(UploadFile), []),
});

async function describe(file: UploadFile | undefined): Promise<unknown> {
  if (!file) return null;
  const digest = await crypto.subtle.digest("SHA-256", await file.bytes());
  return [file.name, file.type, file.size, new Uint8Array(digest).toHex().slice(0, 8)];
}

function uploading(): App {
  const app = new App();
  app.get("/", async () => html(PAGE));
  app.post("/books", { form: Form(Book) }, async (_request, { form: { cover, pages, ...texts } }) => ({
    ...texts,
    cover: await describe(cover),
    pages: await Promise.all(pages.map(describe)),
  }));
  return app;
}

async function submit(page: Page): Promise<unknown> {
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForURL("**/books");
  return JSON.parse(await page.locator("body").innerText());
}

browserTest("A form of a page is bound with its files, filled in or left as it was", async (browser) => {
  await using serving = await Serving.start(uploading());
  const page = await browser.newPage();
  await page.goto(serving.origin);
  assertEquals(await submit(page), { title: "", note: "", isGift: false, tags: [], cover: null, pages: [] });

  await page.goto(serving.origin);
  await page.locator("[name=title]").fill('Ünïcode "quoted" \\ %22');
  await page.locator("[name=copies]").fill("3");
  await page.locator("[name=note]").fill("one\ntwo");
  await page.locator("[name=isGift]").check();
  await page.locator("[name=tags]").selectOption(["a", "c"]);
  const large = new Uint8Array(3_000_000).fill(7);
  await page.locator("[name=cover]").setInputFiles({
    name: 'cö"ver 日本.png',
    mimeType: "image/png",
    buffer: Buffer.from(large),
  });
  await page.locator("[name=pages]").setInputFiles([
    { name: "1.txt", mimeType: "text/plain", buffer: Buffer.from("one") },
    { name: "empty.txt", mimeType: "text/plain", buffer: Buffer.from([]) },
  ]);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", large)).toHex().slice(0, 8);
  assertEquals(await submit(page), {
    title: 'Ünïcode "quoted" \\ %22',
    copies: 3,
    note: "one\r\ntwo",
    isGift: true,
    tags: ["a", "c"],
    cover: ['cö"ver 日本.png', "image/png", 3_000_000, digest],
    pages: [["1.txt", "text/plain", 3, "7692c3ad"], ["empty.txt", "text/plain", 0, "e3b0c442"]],
  });
  await page.close();
});

browserTest("A script sends a form, and a file as a stream", async (browser) => {
  const app = uploading();
  app.put("/objects", { body: Stream() }, async (request, { body }) => {
    let size = 0;
    for await (const chunk of body) size += chunk.length;
    return [request.headers.get("content-type"), size];
  });
  await using serving = await Serving.start(app);
  const page = await browser.newPage();
  await page.goto(serving.origin);
  const sent = await page.evaluate(`(async () => {
    const form = new FormData();
    form.append("title", "from a script");
    form.append("cover", new Blob(["x"]));
    const books = await (await fetch("/books", { method: "POST", body: form })).json();
    const body = new Blob([new Uint8Array(2_000_000)], { type: "image/png" });
    return [books.title, books.cover.slice(0, 3), await (await fetch("/objects", { method: "PUT", body })).json()];
  })()`);
  assertEquals(sent, ["from a script", ["blob", "application/octet-stream", 1], ["image/png", 2_000_000]]);
  await page.close();
});

browserTest(
  "A file is saved under its name, one that is seen is taken from the cache when it is the same",
  async (browser) => {
    await using folder = await TemporaryFolder.make();
    const path = await folder.write("notes.txt", "content");
    await Deno.utime(path, new Date(2000, 0), new Date(2000, 0));
    const statuses: number[] = [];
    const app = new App();
    app.middleware(async (request, next) => {
      const reply = await next(request);
      if (request.path === "/seen") statuses.push(reply.status);
      return reply;
    });
    app.get("/", async () => html(`<a href="/saved">Save</a>`));
    app.get("/saved", async () => await file(path, { filename: "Übersicht 1.txt" }));
    app.get("/seen", async () => await file(path));
    await using serving = await Serving.start(app);
    const page = await browser.newPage();
    await page.goto(serving.origin);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Save").click()]);
    assertEquals(download.suggestedFilename(), "Übersicht 1.txt");
    assertEquals(await Deno.readTextFile(await download.path()), "content");
    for (let turn = 0; turn < 2; turn++) {
      const text = await page.evaluate(`fetch("/seen", { cache: "no-cache" }).then((reply) => reply.text())`);
      assertEquals(text, "content");
    }
    assertEquals(statuses, [200, 304]);
    await page.close();
  },
);

browserTest("A player seeks in a file by ranges", async (browser) => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("silence.wav");
  await Deno.writeFile(path, silence(60));
  const ranges: (string | null)[] = [];
  const app = new App();
  app.get("/", async () => html(`<audio src="/silence.wav" preload="metadata"></audio>`));
  app.get("/silence.wav", async (request) => {
    ranges.push(request.headers.get("range"));
    return await file(path);
  });
  await using serving = await Serving.start(app);
  const page = await browser.newPage();
  await page.goto(serving.origin);
  const [duration, time] = await page.evaluate(`new Promise((resolve) => {
    const audio = document.querySelector("audio");
    audio.onseeked = () => resolve([audio.duration, audio.currentTime]);
    const seek = () => audio.currentTime = 50;
    audio.readyState > 0 ? seek() : audio.onloadedmetadata = seek;
  })`) as [number, number];
  assertEquals([Math.round(duration), Math.round(time)], [60, 50]);
  assert(ranges.some((range) => range?.startsWith("bytes=")), JSON.stringify(ranges));
  await page.close();
});

/** A silent wave file of this many seconds. */
function silence(seconds: number): Uint8Array {
  const rate = 44_100;
  const size = seconds * rate * 2;
  const bytes = new Uint8Array(44 + size);
  const view = new DataView(bytes.buffer);
  const text = (place: number, value: string) => new TextEncoder().encodeInto(value, bytes.subarray(place));
  text(0, "RIFF");
  view.setUint32(4, 36 + size, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, size, true);
  return bytes;
}
