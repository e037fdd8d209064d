/** The documentation page in a browser, for tests. */
import type { Browser, BrowserContextOptions, Locator, Page } from "npm:playwright-core@^1.65.1";
import { WatchedPage } from "./watched_page.ts";

/** The window of a desktop. */
export const DESKTOP: BrowserContextOptions = { viewport: { width: 1280, height: 900 } };

type Handler = (request: Request) => Response | Promise<Response>;

/**
 * Not the address: Swagger UI does not ask its online validator about a document on this machine.
 */
export function originOf({ addr }: Deno.HttpServer<Deno.NetAddr>): string {
  return `http://books.example:${addr.port}`;
}

export function serve(handler: Handler): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
}

/** Opens the documentation page, and waits until it lists the operations. */
export async function openDocs(
  browser: Browser,
  server: Deno.HttpServer<Deno.NetAddr>,
  { path = "/docs", options = DESKTOP }: { path?: string; options?: BrowserContextOptions } = {},
): Promise<WatchedPage> {
  const watched = await WatchedPage.open(browser, originOf(server) + path, options);
  await watched.page.locator(".opblock").first().waitFor();
  return watched;
}

export function operation(page: Page, operationId: string): Locator {
  return page.locator(`.opblock[id$="-${operationId}"]`);
}

/** Opens an operation and sends its request. */
export async function tryOut(
  page: Page,
  operationId: string,
  fill: () => Promise<void> = async () => {},
): Promise<Locator> {
  const block = operation(page, operationId);
  await block.locator(".opblock-summary-control").click();
  await block.getByRole("button", { name: "Try it out" }).click();
  await fill();
  await block.getByRole("button", { name: "Execute" }).click();
  const reply = block.locator(".live-responses-table");
  await reply.waitFor();
  return reply;
}

/** Whether the whole page is dark, by what is painted behind everything. */
export async function isDark(page: Page): Promise<boolean> {
  const colour = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  return colour === "rgb(28, 32, 34)";
}
