// "On a terminal an error is readable": that of a module that the command line loads.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { copyFramework, frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";
import { ChildProgram } from "../spec/support/child_program.ts";

const MAIN = `import { App } from "@webfw/core";
export const app = new App();
app.get("/a/{b}", async () => {});
declare();
function declare() {
  app.get("/a/{c}", async () => {});
}
`;

Deno.test("an error of a module shows its message and the application's own frames; WEBFW_LOG=full shows all", async () => {
  await using project = await Project.create({ "main.ts": MAIN });
  const cwd = project.path;
  const framework = join(cwd, "vendor", "@webfw", "core");
  await copyFramework(framework);
  const imports = await frameworkImports(framework);
  await project.write("deno.json", { imports, lock: false, allowScripts: { deny: ["npm:@scarf/scarf"] } });
  const report = async (env: Record<string, string>) => (await Webfw.finish(["run", "main.ts"], { cwd, env })).stderr;

  const text = await report({});
  const [first, message = "", ...frames] = text.slice(text.indexOf("error:")).split("\n");
  assertEquals(first, 'error: "main.ts" threw while it was loaded');
  assertStringIncludes(message, "RouteError: Cannot register the route: GET /a/{c} has");
  const places = frames.map((line) => line.trim().replace(/file:.*\//, ""));
  assertEquals(places.slice(0, 2), ["at declare (main.ts:6:7)", "at main.ts:4:1 {"]);
  assertEquals(frames.filter((line) => line.includes("/vendor/") && !line.endsWith("{")), []);

  const full = await report({ WEBFW_LOG: "full" });
  assertStringIncludes(full, "/vendor/@webfw/core/src/routing/");
  assertStringIncludes(full, "at declare (");
});

Deno.test("with WEBFW_LOG=full the stack of a mistake has the framework's frames and the line of the program", async () => {
  const program = `import { App } from "@webfw/core";
import * as v from "valibot";
try {
  new App().get("/a/{b}", { params: { c: v.number() } as never }, async () => {});
} catch (error) {
  console.log((error as Error).stack);
}`;
  const stackWith = async (env: Record<string, string>) => {
    await using child = await ChildProgram.start(program, { env });
    const { code, stdout } = await child.end();
    assertEquals(code, 0);
    return stdout.replace(/webfw_spec_\w+/g, "main").split("\n").filter((line) => line.startsWith("    at "));
  };
  const isOwn = (frame: string) => frame.includes("/main.ts");
  const frames = await stackWith({});
  assertEquals(frames.map(isOwn), [true]);
  const full = await stackWith({ WEBFW_LOG: "full" });
  assertEquals(full.at(-1), frames[0]);
  assertEquals(full.filter(isOwn), frames);
  assert(full.length > 5);
});

Deno.test("an error from deep inside the framework shows the application's own frame, and none of the runtime", async () => {
  await using project = await Project.create({
    "main.ts": `import { App } from "@webfw/core";
import * as v from "valibot";
export const app = new App();
app.get("/a/{b}", { params: { c: v.number() } as never }, async () => {});
`,
  });
  const cwd = project.path;
  const framework = join(cwd, "vendor", "@webfw", "core");
  await copyFramework(framework);
  const imports = await frameworkImports(framework);
  await project.write("deno.json", { imports, lock: false, allowScripts: { deny: ["npm:@scarf/scarf"] } });
  const { stderr } = await Webfw.finish(["run", "main.ts"], { cwd });
  const [message = "", ...frames] = stderr.slice(stderr.indexOf("RouteError:")).split("\n");
  assertStringIncludes(message, 'Cannot bind the path of GET /a/{b}: it has no "{c}"');
  const places = frames.map((line) => line.trim().replace(/file:.*\//, ""));
  assertEquals(places.filter((place) => place.startsWith("at ")), ["at main.ts:4:5 {"]);
});

Deno.test("an error of a lifespan with a cause shows both with the application's own frames alone", async () => {
  await using project = await Project.create({
    "main.ts": `import { App } from "@webfw/core";
export const app = new App();
app.lifespan(async function* () {
  throw new Error("No database", { cause: new Error("Refused") });
});
`,
  });
  const cwd = project.path;
  const framework = join(cwd, "vendor", "@webfw", "core");
  await copyFramework(framework);
  const imports = await frameworkImports(framework);
  await project.write("deno.json", { imports, lock: false, allowScripts: { deny: ["npm:@scarf/scarf"] } });
  const { stderr } = await Webfw.finish(["run", "main.ts", "-p", "0"], { cwd });
  const lines = stderr.slice(stderr.indexOf("error:")).split("\n");
  assertEquals(lines.map((line) => line.replace(/file:.*\//, "")), [
    'error: "main.ts" failed',
    "Error: No database",
    "    at main.ts:4:9 {",
    "  [cause]: Error: Refused",
    "      at main.ts:4:43",
    "}",
  ]);
});
