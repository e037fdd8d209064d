import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

/** An application whose module prints, and keeps the program alive. */
const MAIN = `
  console.log("loading");
  setInterval(() => {}, 1_000);
  export const app = {
    [Symbol.for("webfw.app")]: { version: 1 },
    routes: [],
    openapi: () => ({ openapi: "3.1.0", info: { title: "Bücher", version: "1" }, paths: {} }),
    run() { throw new Error("not to be served"); },
    fetch() { throw new Error("not to be called"); },
  };`;

const DOCUMENT = `{
  "openapi": "3.1.0",
  "info": {
    "title": "Bücher",
    "version": "1"
  },
  "paths": {}
}
`;

Deno.test("webfw openapi prints the document alone on stdout, without serving", async () => {
  await using project = await Project.create({ "main.ts": MAIN });
  const { code, stdout, stderr } = await Webfw.finish(["openapi", "main.ts:app"], { cwd: project.path });
  assertEquals({ code, stdout: `${stdout}\n`, stderr }, { code: 0, stdout: DOCUMENT, stderr: "loading" });
});

Deno.test("webfw openapi -o writes the same file each time, and --check fails if it differs", async () => {
  await using project = await Project.create({ "main.ts": MAIN });
  const cwd = project.path;
  const file = join(cwd, "openapi.json");
  const write = ["openapi", "main.ts:app", "-o", "openapi.json"];
  assertEquals((await Webfw.finish(write, { cwd })).code, 0);
  assertEquals(await Deno.readTextFile(file), DOCUMENT);
  assertEquals((await Webfw.finish([...write, "--check"], { cwd })).code, 0);

  await Deno.writeTextFile(file, DOCUMENT.replaceAll("\n", "\r\n"));
  assertEquals((await Webfw.finish([...write, "--check"], { cwd })).code, 0);

  await Deno.writeTextFile(file, DOCUMENT.replace("Bücher", "Books"));
  const differs = await Webfw.finish([...write, "--check"], { cwd });
  assertEquals(differs.code, 1);
  assertStringIncludes(
    differs.stderr,
    `error: The file "openapi.json" differs from the document of "main.ts:app" from line 4 on: run "webfw openapi main.ts:app -o openapi.json"`,
  );
  assertStringIncludes(await Deno.readTextFile(file), "Books");

  await Deno.remove(file);
  const missing = await Webfw.finish([...write, "--check"], { cwd });
  assertEquals(missing.code, 1);
  assertStringIncludes(missing.stderr, `error: Cannot read "openapi.json": no such file or directory`);
});

Deno.test("webfw openapi leaves the file alone after a failure, and reports it", async () => {
  await using project = await Project.create({
    "main.ts": `export const app = { fetch() {} };`,
    "broken.ts": `export const app = ;`,
    "throwing.ts": MAIN.replace("openapi: () =>", 'openapi: () => { throw new TypeError("no schema"); }, other: () =>'),
    "openapi.json": "kept",
  });
  const cwd = project.path;
  const run = (...args: string[]) => Webfw.finish(["openapi", ...args], { cwd });
  assertEquals(await run("main.ts", "-o", "openapi.json"), {
    code: 1,
    stdout: "",
    stderr: `error: Cannot describe "main.ts": it is no App`,
  });
  assertEquals((await run("broken.ts", "-o", "openapi.json")).code, 1);
  const throwing = await run("throwing.ts", "-o", "openapi.json");
  assertEquals(throwing.code, 1);
  assertStringIncludes(throwing.stderr, "TypeError: no schema");
  assertEquals(await Deno.readTextFile(join(cwd, "openapi.json")), "kept");
  assertEquals((await run("main.ts", "--check")).code, 2);
});

/** What an application of the framework has for `webfw asyncapi`. */
const ASYNC = MAIN.replace(
  "{ version: 1 }",
  '{ version: 1, asyncapi: async () => ({ asyncapi: "3.0.0", info: { title: "Bücher" } }) }',
);

Deno.test("webfw asyncapi prints the document, writes it with -o, and --check fails if it differs", async () => {
  await using project = await Project.create({ "main.ts": ASYNC });
  const cwd = project.path;
  const document = `{\n  "asyncapi": "3.0.0",\n  "info": {\n    "title": "Bücher"\n  }\n}`;
  assertEquals(await Webfw.finish(["asyncapi", "main.ts:app"], { cwd }), {
    code: 0,
    stdout: document,
    stderr: "loading",
  });
  const write = ["asyncapi", "main.ts:app", "-o", "asyncapi.json"];
  assertEquals((await Webfw.finish(write, { cwd })).code, 0);
  assertEquals(await Deno.readTextFile(join(cwd, "asyncapi.json")), `${document}\n`);
  await Deno.writeTextFile(join(cwd, "asyncapi.json"), "{}");
  const { code, stderr } = await Webfw.finish([...write, "--check"], { cwd });
  assertEquals(code, 1);
  assertStringIncludes(
    stderr,
    `error: The file "asyncapi.json" differs from the document of "main.ts:app" from line 1 on: run "webfw asyncapi main.ts:app -o asyncapi.json"`,
  );
});

Deno.test("webfw asyncapi says that an older webfw of the project has no AsyncAPI document", async () => {
  await using project = await Project.create({ "main.ts": MAIN });
  const { code, stdout, stderr } = await Webfw.finish(["asyncapi", "main.ts:app"], { cwd: project.path });
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, `error: Cannot describe "main.ts": its webfw has no AsyncAPI document, update it`);
});
