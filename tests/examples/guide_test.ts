// The programs of README.md and of the pages in docs/ run, their tests pass, and they reply as the
// pages show. `deno task check` checks their types.
import { assert, assertEquals } from "@std/assert";
import type { App } from "@webfw/core";
import { pathToFileURL } from "node:url";
import { prepareDeno } from "../../dev/tools/deno.ts";
import { Guide, type Step } from "../../dev/tools/guide.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram } from "../spec/support/child_program.ts";
import { readExchanges } from "./console_block.ts";

const guide = await Guide.open();
Deno.test.afterAll(() => guide[Symbol.asyncDispose]());

const pages = Map.groupBy(guide.steps, ({ page }) => page);

/** Runs a program. Those that reply to requests export their application. */
async function load(step: Step, name: string): Promise<{ app: App }> {
  return await import(pathToFileURL(guide.fileOf(step, name)).href);
}

/** Whether a test of the page runs its programs, which may need settings. */
function hasTest({ programs }: Step): boolean {
  return [...programs.keys()].some((name) => name.endsWith("_test.ts"));
}

for (const [page, steps] of pages) {
  Deno.test(`the programs in ${page} run, and reply as the page shows`, async () => {
    // Some pages show errors, which are logged.
    using _log = new CapturedLog();
    for (const step of steps) {
      if (!hasTest(step)) { for (const name of step.runnable) await load(step, name); }
      const exchanges = step.consoles.flatMap(readExchanges);
      if (exchanges.length === 0) continue;
      const [main] = ["main.ts", "main.tsx"].filter((name) => step.programs.has(name));
      assert(main !== undefined, `${step.name} has no main.ts to send the requests to`);
      const { app } = await load(step, main);
      try {
        for (const { request, body, print } of exchanges) {
          const response = await app.fetch(request);
          assertEquals(print(await response.text()), body, `${step.name}: ${request.method} ${request.url}`);
        }
      } finally {
        await app.stop();
      }
    }
  });
}

Deno.test("the guide has its pages, programs, and requests", () => {
  assert(pages.has("README.md") && pages.has("docs/recipes/jsx.md"));
  assert(guide.steps.flatMap(({ runnable }) => runnable).length > 60);
  assert(guide.steps.flatMap(({ consoles }) => consoles.flatMap(readExchanges)).length > 40);
});

Deno.test("the tests in docs/ pass", async () => {
  const files = guide.files.filter((file) => file.endsWith("_test.ts") && !file.startsWith("docs/client/"));
  const args = ["test", "-A", "--no-check", "--parallel", ...files];
  await using prepared = await prepareDeno(args, { cwd: guide.folder, env: { NO_COLOR: "1" }, stdin: "null" });
  const { success, stdout, stderr } = await prepared.command.output();
  assertEquals(success, true, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
});

Deno.test("programs in docs/ that name servers start without them, too", async () => {
  for (const [page, name] of [["docs/limits.md", "redis.ts"], ["docs/stores.md", "main.ts"]] as const) {
    const step = pages.get(page)?.find(({ programs }) => programs.has(name));
    assert(step !== undefined, `${page} has no ${name}`);
    const source = `import { app } from ${JSON.stringify(pathToFileURL(guide.fileOf(step, name)).href)};
      app.get("/", async () => "served");
      await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });`;
    await using child = await ChildProgram.start(source, { env: { NATS_TOKEN: "none" } });
    const response = await fetch(`http://127.0.0.1:${await child.port()}/`);
    assertEquals([response.status, await response.json()], [200, "served"], page);
  }
});
