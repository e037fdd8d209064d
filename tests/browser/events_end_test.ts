// How streams of events end for good: the page closes them, or is refused.

import { App, html, SSE, type Subscription } from "@webfw/core";
import { assertEquals } from "@std/assert";
import type { Browser, Page } from "npm:playwright-core@^1.65.1";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";

/**
 * An event that a page saw: its name, its data as it was sent, and its id; or that the stream was
 * opened.
 */
type Seen = readonly [name: string, data?: string, id?: string];

const PAGE = "<!doctype html><link rel=icon href='data:,'><title>Page</title>";

/** Sends news. */
class Service {
  readonly app = new App();
  readonly news = this.app.topic<string>("news");
  /** The subscription of the latest stream of news. */
  latest: Subscription<string> | undefined;
  /** Settles when a stream of news has ended and its cleanup is done. */
  readonly gone = Promise.withResolvers<void>();

  constructor() {
    this.app.get("/", async () => html(PAGE));
    this.app.get("/news", async (request) => {
      request.after(() => this.gone.resolve());
      return SSE(this.latest = this.news.subscribe(), { retry: 50 });
    });
  }
}

/** Opens a page with an EventSource that records its events. */
async function watch(browser: Browser, origin: string, path: string, names: string[]): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(origin);
  await page.evaluate(({ path, names }) => {
    const seen: Seen[] = [];
    const source = new EventSource(path);
    source.onopen = () => seen.push(["open"]);
    for (const name of names) {
      source.addEventListener(name, ({ data, lastEventId }) => seen.push([name, data, lastEventId]));
    }
    Object.assign(globalThis, { seen, source });
  }, { path, names });
  return page;
}

/** Waits until the page has seen so much. */
async function seen(page: Page, count: number): Promise<Seen[]> {
  await page.waitForFunction((count) => (globalThis as unknown as { seen: Seen[] }).seen.length >= count, count);
  return await page.evaluate(() => (globalThis as unknown as { seen: Seen[] }).seen);
}

browserTest("A page that closes its stream leaves no subscription", async (browser) => {
  const service = new Service();
  await using serving = await Serving.start(service.app);
  const page = await watch(browser, serving.origin, "/news", ["message", "late"]);
  await seen(page, 1);
  const { id } = await service.news.publish("one\r\n\0\ufeff\u2028two");
  await service.news.publish("three", { type: "late" });
  const events = await seen(page, 3);
  assertEquals(events.slice(0, 2), [["open"], ["message", JSON.stringify("one\r\n\0\ufeff\u2028two"), id]]);
  assertEquals(events[2]?.slice(0, 2), ["late", '"three"']);
  await page.evaluate(() => (globalThis as unknown as { source: EventSource }).source.close());
  await service.gone.promise;
  assertEquals(await service.latest?.nextBatch(), undefined, "closed");
  await page.context().close();
});

browserTest(
  "A page that comes back with an id that no stream gave is refused, and does not try again",
  async (browser) => {
    await using serving = await Serving.start(new Service().app);
    const page = await (await browser.newContext()).newPage();
    await page.goto(serving.origin);
    const state = await page.evaluate(() => {
      const source = new EventSource("/news?lastEventId=garbage");
      return new Promise<number>((resolve) => source.onerror = () => resolve(source.readyState));
    });
    assertEquals(state, 2, "closed");
    await page.context().close();
  },
);
