// shipping.md, section 4: the site, as readers see it. `deno task site` checks its links itself.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { join } from "node:path";
import { violations } from "../accessibility/axe.ts";
import { browserTest } from "../browser/support/browser.ts";

const ROOT = join(import.meta.dirname!, "..", "..");
const BUILT = join(ROOT, "dev", "site", "dist");

/** Prose and tables, long programs, and the reference. */
const PAGES = ["/", "/topics/", "/reference/auth/"];

/** All pages that were built, by their paths. */
async function builtPages(path = "/"): Promise<string[]> {
  const pages: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(BUILT, path))) {
    if (isDirectory) pages.push(...await builtPages(`${path}${name}/`));
    else if (name === "index.html") pages.push(path);
  }
  return pages;
}

const building = new Deno.Command(Deno.execPath(), { args: ["task", "site"], cwd: ROOT, stderr: "piped" }).output();

async function build(): Promise<void> {
  const { success, stdout, stderr } = await building;
  const decoder = new TextDecoder();
  assert(success, decoder.decode(stdout) + decoder.decode(stderr));
}

browserTest('"as a static site … with search, dark mode and no broken link"', async (browser, t) => {
  await build();
  const app = new App({ docsUrl: null, openapiUrl: null, mcpUrl: null });
  app.files("/", BUILT);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    app.fetch,
  );
  const base = `http://127.0.0.1:${server.addr.port}`;
  for (const width of [1280, 390]) {
    for (const colorScheme of ["light", "dark"] as const) {
      await t.step(`${width} px, ${colorScheme}: no fault of accessibility, nothing beyond the screen`, async () => {
        const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
        // A narrow screen finds faults that only one page has. All have the same colors.
        const isEach = width === 390 && colorScheme === "dark";
        for (const path of isEach ? await builtPages() : PAGES) {
          await page.goto(base + path);
          await page.locator(`html[data-theme="${colorScheme}"]`).waitFor();
          assertEquals(await violations(page, PAGES.includes(path)), [], path);
          assertEquals(await page.evaluate("document.documentElement.scrollWidth"), width, path);
        }
        await page.close();
      });
    }
  }
  await t.step("the search finds a page by its text", async () => {
    const page = await browser.newPage();
    await page.goto(base);
    await page.locator("button[data-open-modal]").click();
    await page.locator("dialog input").fill("deadLetter");
    await page.locator('dialog a[href^="/work/"]').first().waitFor();
    await page.close();
  });
});

Deno.test("A page of the reference has its classes and functions before their types", async () => {
  await build();
  const page = await Deno.readTextFile(join(BUILT, "reference", "testing.md"));
  const headings = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name!);
  const types = ["TestClientOptions", "TestEvent", "TestRequestInit"];
  assertEquals(headings.slice(headings.indexOf("TestClient") + 1).filter((name) => types.includes(name)).sort(), types);
});

Deno.test("A member without a docstring has that of the interface that its class implements", async () => {
  await build();
  const page = await Deno.readTextFile(join(BUILT, "reference", "core.md"));
  assertStringIncludes(page, "### App.title\n\n```ts\nreadonly title: string;\n```\n\nThe title of the application.\n");
});

Deno.test('"llms.txt and llms-full.txt come with it"', async () => {
  await build();
  const list = await Deno.readTextFile(join(BUILT, "llms.txt"));
  const full = await Deno.readTextFile(join(BUILT, "llms-full.txt"));
  const pages = [...list.matchAll(/^- \[(.+?)\]\(\/([^)]+)\)/gm)];
  assert(pages.length > 20);
  for (const [, title, path] of pages) {
    const text = await Deno.readTextFile(join(BUILT, path!));
    assertStringIncludes(text, `# ${title}\n`);
    assertStringIncludes(full, text);
  }
});
