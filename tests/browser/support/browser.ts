// A real browser for tests: Chromium without a window.

import { type Browser, chromium } from "npm:playwright-core@^1.65.1";
import { delimiter, join } from "node:path";
import { PATIENCE_MS } from "../../support/patience.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome.exe"];

/**
 * All hosts are this machine: nothing that a page asks for leaves it, and a page can be opened at
 * any name.
 */
const LOOPBACK_ONLY = "--host-resolver-rules=MAP * 127.0.0.1";

/**
 * A test with a browser, which is closed after it.
 *
 * Without a browser, the test is ignored, or fails under `WEBFW_REQUIRE_ALL=1`.
 */
export function browserTest(title: string, run: (browser: Browser, t: Deno.TestContext) => Promise<void>): void {
  Deno.test(title, async (t) => {
    if (findChromium() === undefined && Deno.env.get("WEBFW_REQUIRE_ALL") !== "1") {
      return console.warn(`Left out for want of a browser: put "chromium" on the PATH, or its path into CHROME_PATH`);
    }
    const browser = await launchChromium();
    try {
      await run(browser, t);
    } finally {
      await browser.close();
    }
  });
}

/**
 * Starts a browser. The caller closes it.
 *
 * @throws {Error} When no browser is installed.
 */
export async function launchChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error('Cannot start a browser: put "chromium" on the PATH, or its path into CHROME_PATH');
  }
  // A container has no namespaces for the sandbox, and the tests only open their own pages.
  const args = [LOOPBACK_ONLY];
  const browser = await chromium.launch({ executablePath, chromiumSandbox: false, args, timeout: PATIENCE_MS });
  const open = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await open(options);
    context.setDefaultTimeout(PATIENCE_MS);
    return context;
  };
  return browser;
}

function findChromium(): string | undefined {
  const folders = Deno.env.get("PATH")?.split(delimiter) ?? [];
  return Deno.env.get("CHROME_PATH") ||
    folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isFile);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
