// A page in a browser that records everything that goes wrong, also in windows that it opens.

import type { Browser, BrowserContextOptions, Page } from "npm:playwright-core@^1.65.1";

/** A new page, without cookies and with an empty cache. Disposing of it closes it. */
export class WatchedPage implements AsyncDisposable {
  /** The page. */
  readonly page: Page;
  /**
   * Everything that went wrong: warnings and errors in the console, violations of a policy,
   * uncaught errors, dialogs, failed or refused requests, and requests to other origins, unless the
   * test allows them.
   */
  readonly complaints: string[] = [];

  private constructor(page: Page, origins: readonly string[]) {
    this.page = page;
    const context = page.context();
    context.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(`${message.type()}: ${message.text()}`);
    });
    context.on("weberror", (found) => this.complaints.push(`uncaught: ${found.error().message}`));
    context.on("dialog", async (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    context.on("request", (request) => {
      const url = new URL(request.url());
      if (/^(?:https?|wss?):$/.test(url.protocol) && !origins.includes(url.origin)) {
        this.complaints.push(`other origin: ${url}`);
      }
    });
    context.on("requestfailed", (request) => this.complaints.push(`failed: ${request.url()}`));
    context.on("response", (response) => {
      if (response.status() >= 400) this.complaints.push(`${response.status()}: ${response.url()}`);
    });
  }

  /** Opens a URL. Its pages may use some other origins, too. */
  static async open(
    browser: Browser,
    url: string,
    options: BrowserContextOptions = {},
    otherOrigins: readonly string[] = [],
  ): Promise<WatchedPage> {
    const context = await browser.newContext(options);
    const watched = new WatchedPage(await context.newPage(), [new URL(url).origin, ...otherOrigins]);
    await watched.page.goto(url);
    return watched;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
