import { assertEquals } from "@std/assert";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

Deno.test("webfw routes refuses an application without a table, and tells what cannot be loaded", async () => {
  await using project = await Project.create({
    "main.ts": `export const app = { fetch() {}, routes: [] };`,
    "broken.ts": "export const app = ;",
  });
  const cwd = project.path;
  assertEquals(await Webfw.finish(["routes", "main.ts"], { cwd }), {
    code: 1,
    stdout: "",
    stderr: `error: Cannot list the routes of "main.ts": it is no App`,
  });
  assertEquals((await Webfw.finish(["routes", "broken.ts"], { cwd })).code, 1);
  assertEquals((await Webfw.finish(["routes", "main.ts:api"], { cwd })).code, 1);
});
