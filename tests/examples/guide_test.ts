// The programs of the pages in docs/ compile, their tests pass, and they reply as the pages show.
import { assert, assertEquals } from "@std/assert";
import type { App } from "@webfw/core";
import { pathToFileURL } from "node:url";
import { prepareDeno } from "../../tools/deno.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram } from "../spec/support/child_program.ts";
import { Guide } from "./guide.ts";

/** Runs Deno to its end, which must be a success. */
async function deno(args: string[], cwd: string): Promise<void> {
  await using prepared = await prepareDeno(args, { cwd, env: { NO_COLOR: "1" }, stdin: "null" });
  const { success, stdout, stderr } = await prepared.command.output();
  assertEquals(success, true, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
}

for (const below of [".", "recipes"]) {
  Deno.test(`the programs in docs/${below} compile, and their tests pass`, async () => {
    await using guide = await Guide.open(below);
    const programs = [...guide.files(".ts"), ...guide.files(".tsx")];
    assert(programs.length > 0);
    await deno(["check", ...programs], guide.folder);
    await deno(["test", "-A", "--no-check", "--parallel", ...guide.files("_test.ts")], guide.folder);
  });

  Deno.test(`the programs in docs/${below} reply as the pages show`, async () => {
    await using guide = await Guide.open(below);
    // Some pages show errors, which are logged.
    using _log = new CapturedLog();
    for (const step of guide.steps.filter(({ exchanges }) => exchanges.length > 0)) {
      const [main] = ["main.ts", "main.tsx"].filter((name) => step.programs.has(name));
      assert(main !== undefined, `${step.name} has no main.ts to send the requests to`);
      const { app } = await import(pathToFileURL(guide.fileOf(step, main)).href) as { app: App };
      try {
        for (const { request, body, print } of step.exchanges) {
          const response = await app.fetch(request);
          assertEquals(print(await response.text()), body, `${step.name}: ${request.method} ${request.url}`);
        }
      } finally {
        await app.stop();
      }
    }
  });
}

Deno.test("programs in docs/ that name servers start without them, too", async () => {
  await using guide = await Guide.open(".");
  for (const [page, name] of [["limits", "redis.ts"], ["stores", "main.ts"]] as const) {
    const step = guide.steps.find((step) => step.name.startsWith(page) && step.programs.has(name));
    assert(step !== undefined, `${page} has no ${name}`);
    const source = `import { app } from ${JSON.stringify(pathToFileURL(guide.fileOf(step, name)).href)};
      app.get("/", async () => "served");
      await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });`;
    await using child = await ChildProgram.start(source, { env: { NATS_TOKEN: "none" } });
    const response = await fetch(`http://127.0.0.1:${await child.port()}/`);
    assertEquals([response.status, await response.json()], [200, "served"], page);
  }
});
