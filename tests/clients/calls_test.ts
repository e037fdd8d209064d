// Calls of the client where users run them: a page in Chromium, Node.js and Bun. Each takes the
// bundle that a page would load.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { App, file } from "@webfw/core";
import { bundle } from "../../dev/tools/bundle.ts";
import { browserTest } from "../browser/support/browser.ts";
import { Serving } from "../spec/support/serving.ts";
import { platformTest } from "./support/platform.ts";
import { service } from "./programs/calls_api.ts";

const slug = "a b/ü";
const order = { title: "Emma", items: [{ id: 1, tags: ["a"] }, { id: 2, tags: ["b", "c"] }], note: null };

/** What the program has to give. */
const EXPECTED = {
  book: { id: 1, title: `${slug},x&y,+`, added: "1970-01-01T00:00:00.000Z" },
  order: { slug, ...order, key: "object" },
  repeatable: { slug, ...order, key: "string" },
  dropped: "undefined",
  form: { type: "application/x-www-form-urlencoded;charset=UTF-8", form: order },
  files: { title: "ü", pictures: [["a.png", "image/png", "1"], ["ü.txt", "text/plain", "2"]] },
  bytes: "some bytes",
  lines: [1, 2, 3],
  picture: ["image/png", "…"],
  notes: "plain",
  who: "client",
  problem: [true, 404, "No such book"],
  issues: [["path", "id"]],
  aborted: "enough",
  late: "TimeoutError",
  refused: true,
};

/** The address of a server that is gone. */
async function goneOrigin(): Promise<string> {
  await using serving = await Serving.start(new App());
  return serving.origin;
}

for (const platform of ["node", "bun"] as const) {
  platformTest(`The client calls routes in ${platform}`, platform, async (run) => {
    const module = join(import.meta.dirname!, "programs", "calls.ts");
    await using serving = await Serving.start(service());
    assertEquals(await run(module, "run", `${serving.origin}/v1`), EXPECTED);
    assertEquals(await run(module, "runWithoutServer", await goneOrigin()), true);
  });
}

browserTest("The client calls routes of a page's own origin, and leaves cookies to the browser", async (browser) => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_client_" });
  const app = service();
  app.get("/scripts/{name}", async (_request, { name }) => await file(pathToFileURL(join(folder, name))));
  await bundle(join(import.meta.dirname!, "programs", "calls.ts"), folder, { splits: true, minifies: true });
  await using serving = await Serving.start(app);
  const page = await browser.newPage();
  // Not a secure context: a page of plain HTTP has less of the platform.
  await page.goto(`http://shop.test:${serving.port}/`);
  const run = async (base: string) =>
    await page.evaluate(`import("/scripts/calls.js").then(({ run }) => run("${base}"))`);
  for (const base of ["/v1", "/v1/", `http://shop.test:${serving.port}/v1`]) {
    assertEquals(await run(base), { ...EXPECTED, who: "page" });
  }
  await page.close();
  await Deno.remove(folder, { recursive: true });
});
