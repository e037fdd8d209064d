// Server-sent events with clients that people use: Chromium's EventSource, and that of npm.

import { App, html, SSE } from "@webfw/core";
import { assertEquals } from "@std/assert";
import { EventSource } from "npm:eventsource@^5.1.5";
import type { Page } from "npm:playwright-core@^1.65.1";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { Serving } from "../spec/support/serving.ts";
import { freePorts } from "../support/free_ports.ts";
import { browserTest } from "./support/browser.ts";

/** A page that lists its events. */
const PAGE = `<!DOCTYPE html><title>Events</title><link rel="icon" href="data:,"><ol></ol><script type="module">
  const source = new EventSource("/events");
  const add = ({ type, data }) => {
    const item = document.createElement("li");
    item.textContent = type + " " + data;
    document.querySelector("ol").append(item);
  };
  for (const type of ["message", "drop", "webfw.gap"]) source.addEventListener(type, add);
  source.onopen = () => document.title = "open";
  source.onerror = () => document.title = "error";
</script>`;

/** Sends the events of a topic that keeps little. */
function news() {
  const app = new App();
  const topic = app.topic("news", { retention: { count: 5 } });
  app.get("/", async () => html(PAGE));
  app.get("/events", async () => SSE(topic.subscribe(), { retry: 50 }));
  return { app, topic };
}

async function lines(page: Page, count: number): Promise<string[]> {
  await page.locator("li").nth(count - 1).waitFor();
  return await page.locator("li").allInnerTexts();
}

browserTest("An EventSource gets data and named events as they were", async (browser) => {
  const { app, topic } = news();
  await using serving = await Serving.start(app);
  const page = await browser.newPage();
  await page.goto(serving.origin);
  await page.waitForFunction('document.title === "open"');
  const texts = ["plain", "two\nlines", "data: forged\n\nevent: drop", "\ufeff\u2028Grüße 👋"];
  for (const text of texts) await topic.publish(text);
  await topic.publish({ price: 1 }, { type: "drop" });
  assertEquals(await lines(page, 5), [...texts.map((text) => `message ${JSON.stringify(text)}`), 'drop {"price":1}']);
  await page.close();
});

browserTest(
  "An EventSource that was cut off comes back, and is told that what it missed is gone",
  async (browser) => {
    const { app, topic } = news();
    const page = await browser.newPage();
    const [port = 0] = freePorts(1);
    const first = await Serving.start(app, { port });
    await page.goto(first.origin);
    await page.waitForFunction('document.title === "open"');
    await topic.publish(1);
    assertEquals(await lines(page, 1), ["message 1"]);
    // The server stops and forgets its memory: the page gets a gap, and then new messages.
    await first.stop();
    await page.waitForFunction('document.title === "error"');
    await using _second = await Serving.start(app, { port });
    await page.waitForFunction('document.title === "open"');
    await topic.publish(3);
    const [, gap, message] = await lines(page, 3);
    assertEquals([gap?.startsWith('webfw.gap {"reason":"epoch"'), message], [true, "message 3"]);
    await page.close();
  },
);

/** Publishes numbers, to a topic that lives in a file. */
const NUMBERS = `
import { App, SSE } from "${CORE}";
const app = new App({ topics: Deno.env.get("NUMBERS_FILE") });
const numbers = app.topic("numbers", { durable: true });
app.get("/events", async () => SSE(numbers.subscribe(), { retry: 50 }));
app.post("/", async (request) => void await numbers.publish(await request.json()));
await app.run({ port: Number(Deno.env.get("NUMBERS_PORT")), onListen: ({ port }) => console.log("port " + port) });
`;

Deno.test("The EventSource of npm misses nothing while the server is killed and started again", async () => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_events_" });
  const env = { NUMBERS_FILE: `${folder}/numbers.sqlite` };
  const start = (port: number) => ChildProgram.start(NUMBERS, { env: { ...env, NUMBERS_PORT: String(port) } });
  const [port = 0] = freePorts(1);
  let server = await start(port);
  await server.port();
  const origin = `http://127.0.0.1:${port}`;
  const publish = async (data: number) => {
    const response = await fetch(origin, { method: "POST", body: JSON.stringify(data) });
    await response.body?.cancel();
    assertEquals(response.status, 204);
  };
  const source = new EventSource(`${origin}/events`);
  const seen: number[] = [];
  let wake = () => {};
  source.addEventListener("message", ({ data }) => {
    seen.push(Number(data));
    wake();
  });
  const until = async (count: number) => {
    while (seen.length < count) await new Promise<void>((resolve) => wake = resolve);
  };
  await new Promise<void>((resolve) => source.addEventListener("open", () => resolve(), { once: true }));
  let next = 0;
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 10; count++) await publish(next++);
    await until(next);
    // Published while the client sees it or not: it is killed at once.
    await publish(next++);
    server.signal("SIGKILL");
    await server[Symbol.asyncDispose]();
    server = await start(port);
    await server.port();
    await publish(next++);
    await until(next);
  }
  source.close();
  assertEquals(seen, Array.from({ length: next }, (_, index) => index));
  await server[Symbol.asyncDispose]();
  await Deno.remove(folder, { recursive: true });
});
