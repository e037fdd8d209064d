// The pages of the board are accessible, by the rules of axe, in light and dark and on a phone.

import { assertEquals } from "@std/assert";
import type { BrowserContextOptions } from "npm:playwright-core@^1.65.1";
import { browserTest } from "../browser/support/browser.ts";
import { boardApp, useApp } from "../browser/support/board_app.ts";
import { violations } from "./axe.ts";

const DEVICES: Readonly<Record<string, BrowserContextOptions>> = {
  desktop: { viewport: { width: 1280, height: 900 } },
  "dark desktop": { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

/** Places in the board, and what is there when the page is complete. */
const PLACES: readonly (readonly [place: string, shown: string])[] = [
  ["requests", "6 of 6"],
  ["requests/2", "Parts of the request"],
  ["requests/4", "Invalid input"],
  ["requests/5", "Error"],
  ["routes", "/items/{item}"],
  ["topics", "orders"],
  ["topics/orders", "Messages"],
  ["consumers", "orders/mail"],
  ["consumers/orders/mail", "Failures"],
  ["crons", "nightly report"],
  ["health", "Nodes that share the store"],
];

browserTest("Each page of the board", async (browser, t) => {
  const app = boardApp();
  await app.start();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await useApp(origin);
  for (const [device, options] of Object.entries(DEVICES)) {
    await t.step(`is accessible on a ${device}`, async () => {
      const context = await browser.newContext(options);
      const page = await context.newPage();
      const found: Record<string, string[]> = {};
      for (const [place, shown] of PLACES) {
        await page.goto(`${origin}/_board/#/${place}`);
        await page.locator("main").getByText(shown).or(page.getByLabel(shown)).first().waitFor();
        const faults = await violations(page);
        if (faults.length > 0) found[place] = faults;
      }
      await page.goto(`${origin}/_board/#/topics/orders`);
      await page.getByRole("button", { name: "Publish…" }).click();
      await page.getByRole("button", { name: "Cancel" }).waitFor();
      found.publish = await violations(page);
      await page.goto(`${origin}/_board/#/crons`);
      await page.getByRole("button", { name: "Run now" }).click();
      await page.getByRole("dialog").waitFor();
      found.dialog = await violations(page);
      assertEquals(found, { publish: [], dialog: [] });
      await context.close();
    });
  }
  await app.stop();
  await server.shutdown();
});
