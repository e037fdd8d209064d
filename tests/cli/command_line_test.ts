// Shipping, section 1: the options of `webfw run`, and where it listens.

import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { Project } from "./project.ts";
import { frameworkImports } from "./framework.ts";
import { Webfw } from "./webfw.ts";

const HINT = /^\S+ INFO Only this machine can connect: set WEBFW_HOST=0\.0\.0\.0 to be reached from others$/m;
const FETCH = `export const app = { fetch: () => new Response("served") };`;
const APP = `import { App } from "@webfw/core";
export const app = new App();
app.get("/", async () => "served");`;

async function project(): Promise<Project> {
  return await Project.create({
    // Without it, Deno warns of a package of Swagger UI.
    "deno.json": { imports: await frameworkImports(), allowScripts: { deny: ["npm:@scarf/scarf"] } },
    "main.ts": APP,
    "fetch.ts": FETCH,
  });
}

/** Serves an application until it has answered, and gives what was printed. */
async function printed(args: readonly string[], { path: cwd }: Project, env: Record<string, string>): Promise<string> {
  await using webfw = await Webfw.start(["run", ...args], { cwd, env });
  const port = /\d+$/.exec(await webfw.origin())![0];
  assertMatch(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /served/);
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
  return webfw.stderr.text;
}

Deno.test("webfw run takes PORT and WEBFW_HOST where no option is given", async () => {
  await using folder = await project();
  const reached = await printed(["main.ts"], folder, { PORT: "0", WEBFW_HOST: "0.0.0.0" });
  assertMatch(reached, /^\S+ INFO Listening on http:\/\/0\.0\.0\.0:\d+$/m);
  assertNotMatch(reached, HINT);
  for (const file of ["main.ts", "fetch.ts"]) {
    const local = await printed([file], folder, { PORT: "0" });
    assertEquals(local.match(new RegExp(HINT, "gm"))?.length, 1, local);
  }
});

Deno.test("The options of webfw run are stronger than PORT and WEBFW_HOST, and -p is short for --port", async () => {
  await using folder = await project();
  const env = { PORT: "none", WEBFW_HOST: "none" };
  const text = await printed(["main.ts", "-p", "0", "--host", "127.0.0.1"], folder, env);
  assertMatch(text, /^\S+ INFO Listening on http:\/\/127\.0\.0\.1:\d+$/m);
});

Deno.test("webfw run reads PORT of a file of variables, and not without the permission", async () => {
  await using folder = await project();
  await folder.write("port.env", "PORT=0\n");
  assertMatch(await printed(["main.ts", "--", "--env-file=port.env"], folder, {}), HINT);
  const env = { PORT: "none", DENO_NO_PROMPT: "" };
  await printed(["fetch.ts", "--allow-net", "-p", "0"], folder, env);
});

Deno.test("A PORT that is no port is one line, also in a watcher", async () => {
  await using folder = await project();
  for (const flags of [[], ["--reload"]]) {
    const { code, stderr } = await Webfw.finish(["run", "main.ts", ...flags], {
      cwd: folder.path,
      env: { PORT: "80a" },
    });
    assertEquals(
      [code, stderr.replace(/^Watcher .*\n/, "")],
      [
        1,
        `error: Cannot listen on the port of the variable PORT: "80a" is not a port, set a whole number from 0 to 65535`,
      ],
    );
  }
});

Deno.test("webfw run --quiet (no access lines)", async () => {
  await using folder = await project();
  for (const [file, flag] of [["main.ts", "--quiet"], ["fetch.ts", "-q"]] as const) {
    assertMatch(await printed([file, "-p", "0"], folder, {}), / INFO GET \/ 200/);
    assertNotMatch(await printed([file, "-p", "0", flag], folder, {}), /GET/);
  }
});

Deno.test("webfw run . finds main.ts, and so do the other commands", async () => {
  await using folder = await project();
  await folder.write("inner/main.tsx", APP);
  await folder.write("inner/main.js", "nonsense");
  await printed([".", "-p", "0"], folder, {});
  await printed(["inner:app", "-p", "0"], folder, {});
  const { code, stdout } = await Webfw.finish(["routes", "."], { cwd: folder.path });
  assertEquals(code, 0);
  assertMatch(stdout, /^GET +\//m);
});
