// tools/site: what makes a link of the site a broken one.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { brokenLinks } from "../../dev/tools/site/links.ts";

Deno.test("a link to a page, a file or a heading that is not there is broken", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(folder, "topics"));
    await Deno.writeTextFile(
      join(folder, "index.html"),
      `<h2 id="start"></h2><a href="/topics/#all"></a><a href="/topics/#none"></a><a href="#start"></a>` +
        `<a href="/topic/"></a><img src="/cat.png"><a href="https://deno.com/none"></a><a href="topics/?q=1"></a>` +
        `<pre data-code="&lt;a href=&quot;/dog/&quot;&gt; a > b" title="x"><span>&lt;a</span> href="/dog/"&gt;</pre>`,
    );
    await Deno.writeTextFile(join(folder, "topics", "index.html"), `<h2 id="all"></h2><a href="../#end"></a>`);
    assertEquals((await brokenLinks(folder)).toSorted(), [
      "index.html: /cat.png is not there",
      "index.html: /topic/ is not there",
      "index.html: /topics/#none has no such heading",
      "topics/index.html: ../#end has no such heading",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
