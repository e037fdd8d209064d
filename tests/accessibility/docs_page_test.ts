// The documentation page is accessible, by the rules of axe.

import { assertEquals } from "@std/assert";
import type { BrowserContextOptions, Page } from "npm:playwright-core@^1.65.1";
import { Buffer } from "node:buffer";
import { browserTest } from "../browser/support/browser.ts";
import { DESKTOP, isDark, openDocs, operation, originOf, serve, tryOut } from "../browser/support/docs_page.ts";
import { documentedApp } from "../browser/support/documented_app.ts";
import { violations } from "./axe.ts";

const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const DARK: BrowserContextOptions = { ...DESKTOP, colorScheme: "dark" };

/** Opens everything that can be opened. */
async function openAll(page: Page): Promise<void> {
  const closed = [
    page.locator(".opblock-summary-control[aria-expanded=false]"),
    page.getByRole("button", { name: "Try it out" }),
    page.locator(".models").getByRole("button", { name: "Expand all" }),
  ];
  for (const control of closed) {
    // All at once, in the page: after each single click the browser would lay a larger page out.
    const click = (elements: { click(): void }[]) => elements.forEach((element) => element.click());
    while (await control.count() > 0) await control.evaluateAll(click as (elements: unknown[]) => void);
  }
}

async function widthOf(page: Page): Promise<number> {
  return await page.evaluate("document.documentElement.scrollWidth");
}

browserTest("The documentation page", async (browser, t) => {
  await using server = serve(documentedApp().fetch);

  for (const [device, options] of [["desktop", DESKTOP], ["phone", PHONE], ["dark desktop", DARK]] as const) {
    await t.step(`is accessible and fits on a ${device}, closed and open`, async () => {
      await using watched = await openDocs(browser, server, { options });
      const { page } = watched;
      assertEquals(await isDark(page), options === DARK);
      const width = options.viewport!.width;
      assertEquals([await violations(page), await widthOf(page)], [[], width]);
      await tryOut(page, "getBook", () => page.getByPlaceholder("id").fill("7"));
      await openAll(page);
      assertEquals(await page.getByRole("button", { name: "Execute" }).count(), 11);
      assertEquals([await violations(page), await widthOf(page)], [[], width]);
      assertEquals(watched.complaints, []);
    });
  }

  await t.step(
    "is accessible while a dialog is open, with chosen files, and with a filter that fits nothing",
    async () => {
      await using watched = await openDocs(browser, server);
      const { page } = watched;
      await page.getByRole("button", { name: "Authorize" }).click();
      await page.locator(".dialog-ux").waitFor();
      assertEquals(await violations(page), []);
      await page.locator(".dialog-ux").getByRole("button", { name: "Close" }).last().click();
      await tryOut(page, "addCover", async () => {
        const form = operation(page, "addCover").locator("[data-property-name]");
        await form.getByPlaceholder("title").fill("Emma");
        const file = { name: "front.png", mimeType: "image/png", buffer: Buffer.from("a front") };
        await form.locator("input[type=file]").first().setInputFiles(file);
        const sketches = operation(page, "addCover").locator("[data-property-name=sketches]");
        await sketches.getByRole("button", { name: /^Add / }).click();
        await sketches.locator("input[type=file]").first().setInputFiles({ ...file, name: "one.png" });
      });
      assertEquals(await violations(page), []);
      await page.getByRole("search").getByLabel("Filter by tag or path").fill("nothing like this");
      await page.getByText("No operation has this in its tag or path.").waitFor();
      assertEquals(await violations(page), []);
      assertEquals(watched.complaints, []);
    },
  );

  await t.step("has enough contrast in dark mode where Swagger UI cannot be loaded", async () => {
    const context = await browser.newContext(DARK);
    await context.route("**/swagger-ui.js*", (route) => route.fulfill({ status: 500 }));
    const page = await context.newPage();
    await page.goto(`${originOf(server)}/docs`);
    await page.getByText("could not be loaded").waitFor();
    assertEquals((await violations(page)).filter((fault) => fault.startsWith("color-contrast")), []);
    await context.close();
  });
});
