// The chat, as two people see it in a real browser.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import type { Browser, Page } from "npm:playwright-core@^1.65.1";
import { chat } from "../../examples/chat/chat.ts";
import { Serving } from "../spec/support/serving.ts";
import { freePorts } from "../support/free_ports.ts";
import { browserTest } from "./support/browser.ts";
import { WatchedPage } from "./support/watched_page.ts";

/** A pixel, as PNG. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/** A folder for pictures. Disposing of it removes it. */
class Folder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async make(): Promise<Folder> {
    return new Folder(await Deno.makeTempDir({ prefix: "webfw_chat_" }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

async function enter(browser: Browser, origin: string, name: string, room: string): Promise<WatchedPage> {
  const watched = await WatchedPage.open(browser, origin);
  const { page } = watched;
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Room", { exact: true }).fill(room);
  await page.getByRole("button", { name: "Enter" }).click();
  await page.getByText(`In ${room} as ${name}`).waitFor();
  return watched;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

function shown(page: Page, text: string) {
  return page.locator("#messages li", { hasText: text });
}

browserTest("Two people talk in a room, show a picture, and see what goes on in all rooms", async (browser) => {
  await using folder = await Folder.make();
  await using serving = await Serving.start(chat(folder.path));
  await using ada = await enter(browser, serving.origin, "Ada", "lobby");
  await using grace = await enter(browser, serving.origin, "Grace", "lobby");
  await using other = await enter(browser, serving.origin, "Alan", "library");

  await say(ada.page, "Hello <b>all</b>");
  await shown(grace.page, "Ada Hello <b>all</b>").waitFor();
  await say(grace.page, "Hello Ada");
  await shown(ada.page, "Grace Hello Ada").waitFor();

  const files = { name: "../../a pixel.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") };
  await ada.page.getByLabel("Picture").setInputFiles(files);
  await ada.page.getByRole("button", { name: "Send picture" }).click();
  const picture = grace.page.getByRole("img", { name: "Picture by Ada" });
  await picture.waitFor();
  // Run by the page: a text, since the names of pages are unknown here.
  await grace.page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  assertEquals((await Array.fromAsync(Deno.readDir(folder.path))).length, 1);

  await other.page.locator("#activity li", { hasText: "Grace in lobby" }).waitFor();
  assertEquals(await other.page.locator("#messages li").count(), 0);

  await using late = await enter(browser, serving.origin, "Late", "lobby");
  await shown(late.page, "Grace Hello Ada").waitFor();
  for (const { complaints } of [ada, grace, other, late]) assertEquals(complaints, []);
});

browserTest("A file that is no picture is refused, and the page says why", async (browser) => {
  await using folder = await Folder.make();
  await using serving = await Serving.start(chat(folder.path));
  await using ada = await enter(browser, serving.origin, "Ada", "lobby");
  await ada.page.getByLabel("Picture").setInputFiles({
    name: "page.html",
    mimeType: "text/html",
    buffer: Buffer.from("<script>alert(1)</script>"),
  });
  await ada.page.getByRole("button", { name: "Send picture" }).click();
  await ada.page.locator("#state", { hasText: "Invalid" }).waitFor();
  assertEquals((await Array.fromAsync(Deno.readDir(folder.path))).length, 0);
  assert(
    ada.complaints.every((complaint) => complaint.startsWith("422") || complaint.includes("422")),
    `${ada.complaints}`,
  );
});

browserTest("When the server comes back the page goes on, and tells what it has missed", async (browser) => {
  await using folder = await Folder.make();
  const [port = 0] = freePorts(1);
  const first = await Serving.start(chat(folder.path), { port });
  await using ada = await enter(browser, first.origin, "Ada", "lobby");
  await say(ada.page, "before");
  await shown(ada.page, "Ada before").waitFor();
  await first.stop();
  await ada.page.getByText("Connection lost, trying again").waitFor();
  await using _second = await Serving.start(chat(folder.path), { port });
  await ada.page.getByText("In lobby as Ada").waitFor();
  await shown(ada.page, "Older messages are no longer there").waitFor();
  await say(ada.page, "after");
  await shown(ada.page, "Ada after").waitFor();
  assertStringIncludes(await ada.page.locator("#activity").innerText(), "Ada in lobby");
});
