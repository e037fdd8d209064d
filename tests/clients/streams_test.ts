// Streams and sockets of the client where users run them: a page in Chromium, Node.js and Bun.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { file } from "@webfw/core";
import { bundle } from "../../dev/tools/bundle.ts";
import { browserTest } from "../browser/support/browser.ts";
import { Serving } from "../spec/support/serving.ts";
import { service } from "./programs/streams_api.ts";
import { platformTest } from "./support/platform.ts";

const MODULE = join(import.meta.dirname!, "programs", "streams.ts");

/** What the program has to give. Each connection brings three numbers. */
const EXPECTED = {
  numbers: [1, 2, 3, 4, 5, 6, 7].map((n) => [`${n}`, n]),
  steps: ["begin", "end"],
  refused: ["ProblemError", 401, "Say who you are"],
  heard: { by: "Ann", text: "hello" },
  closed: [3001, "done"],
};

for (const platform of ["node", "bun"] as const) {
  platformTest(`Events resume and sockets converse in ${platform}`, platform, async (run) => {
    await using serving = await Serving.start(service());
    assertEquals(await run(MODULE, "run", `${serving.origin}/v1`), EXPECTED);
  });
}

browserTest("Events resume and sockets converse in a page", async (browser) => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_client_" });
  const app = service();
  app.get("/scripts/{name}", async (_request, { name }) => await file(pathToFileURL(join(folder, name))));
  await bundle(MODULE, folder, { splits: true, minifies: true });
  await using serving = await Serving.start(app);
  const page = await browser.newPage();
  await page.goto(serving.origin);
  assertEquals(await page.evaluate(`import("/scripts/streams.js").then(({ run }) => run("/v1"))`), EXPECTED);
  await page.close();
  await Deno.remove(folder, { recursive: true });
});
