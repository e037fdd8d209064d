// `webfw run` of an application whose durable topics cannot work.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

const MAIN = `
import { App } from "@webfw/core";
export const app = new App();
app.topic("orders", { durable: true });
`;

Deno.test("webfw run tells in one line that durable topics cannot work, and why", async () => {
  await using project = await Project.create({
    "main.ts": MAIN,
    "notes.txt": "These are notes, and no database of any kind. ".repeat(10),
    "deno.json": { imports: await frameworkImports() },
  });
  const cwd = project.path;
  const [beside, notes] = [join(cwd, ".webfw"), join(cwd, "notes.txt")];
  const table: [flags: string[], env: Record<string, string>, message: string][] = [
    [
      ["--allow-net=127.0.0.1:0", "--allow-env"],
      {},
      `Cannot open the store of topics "${join(beside, "topics.sqlite")}": ` +
      `permissions are missing, start Deno with --allow-read=${beside} --allow-write=${beside}`,
    ],
    [[], { WEBFW_TOPICS: notes }, `Cannot open the store of topics "${notes}": it is no database, name another file`],
  ];
  for (const [flags, env, message] of table) {
    for (const workers of [[], ["--workers", "2"]]) {
      const { code, stdout, stderr } = await Webfw.finish(["run", "main.ts", "--port", "0", ...workers, ...flags], {
        cwd,
        env: { DENO_NO_PROMPT: "1", ...env },
      });
      assertEquals([code, stdout, stderr.split("\n").at(-1)], [1, "", `error: ${message}`]);
    }
  }
});
