// Takes the picture of the documentation page in the README:
//   deno task dev
//   deno task deno run -A tests/browser/screenshot.ts http://127.0.0.1:8000/docs docs/swagger_ui.png

import { launchChromium } from "./support/browser.ts";

const [url, file] = Deno.args;
if (url === undefined || file === undefined) throw new Error("Cannot take a picture: give a URL and a file");
const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
  await page.goto(url);
  await page.locator(".opblock").first().waitFor();
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
