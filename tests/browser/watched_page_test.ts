// A watched page records what goes wrong. Otherwise the tests that find nothing would prove
// nothing.

import { assertEquals } from "@std/assert";
import { browserTest } from "./support/browser.ts";
import { WatchedPage } from "./support/watched_page.ts";

const MARKUP = `<!doctype html><link rel="icon" href="data:,"><body>
<script nonce="x">
  console.log("nothing wrong");
  console.warn("careful");
  alert("hello");
  addEventListener("load", () => {
    document.body.append("Loaded");
    throw new Error("not caught");
  });
</script>
<script>document.body.textContent = "ran";</script>
<img src="/missing.png"><img src="http://other.example:9/picture.png">
<p style="color: red">Text</p></body>`;

browserTest("A page complains of all that goes wrong on it", async (browser) => {
  const headers = {
    "content-type": "text/html",
    "content-security-policy": "default-src 'none'; script-src 'nonce-x'; img-src *",
  };
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    return new URL(url).pathname === "/" ? new Response(MARKUP, { headers }) : new Response(null, { status: 404 });
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  await using watched = await WatchedPage.open(browser, url);
  await watched.page.getByText("Loaded").waitFor();
  const has = (pattern: RegExp) => watched.complaints.some((complaint) => pattern.test(complaint));
  for (
    const pattern of [
      /^warning: careful$/,
      /^dialog: hello$/,
      /^uncaught: not caught$/,
      /^error: .*inline script.*Content Security Policy/,
      /^error: .*inline style.*Content Security Policy/,
      /^404: .+\/missing\.png$/,
      /^other origin: http:\/\/other\.example:9\/picture\.png$/,
      /^failed: http:\/\/other\.example:9\/picture\.png$/,
    ]
  ) assertEquals([pattern, has(pattern)], [pattern, true], watched.complaints.join("\n"));
  assertEquals(has(/nothing wrong/), false);
});
