// A page in a browser that records everything that goes wrong.

import type { Browser, BrowserContextOptions, Page } from "npm:playwright-core@^1.65.1";

/** A new page, without cookies and with an empty cache. Disposing of it closes it. */
export class WatchedPage implements AsyncDisposable {
  /** The page. */
  readonly page: Page;
  /**
   * Everything that went wrong: warnings and errors in the console, violations of a policy,
   * uncaught errors, dialogs, failed or refused requests, and requests to another origin.
   */
  readonly complaints: string[] = [];

  private constructor(page: Page, origin: string) {
    this.page = page;
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.complaints.push(`uncaught: ${error.message}`));
    page.on("dialog", async (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (/^(?:https?|wss?):$/.test(url.protocol) && url.origin !== origin) {
        this.complaints.push(`other origin: ${url}`);
      }
    });
    page.on("requestfailed", (request) => this.complaints.push(`failed: ${request.url()}`));
    page.on("response", (response) => {
      if (response.status() >= 400) this.complaints.push(`${response.status()}: ${response.url()}`);
    });
  }

  /** Opens a URL. */
  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const context = await browser.newContext(options);
    const watched = new WatchedPage(await context.newPage(), new URL(url).origin);
    await watched.page.goto(url);
    return watched;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
