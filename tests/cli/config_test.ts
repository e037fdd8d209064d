import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { Project } from "./project.ts";
import { Webfw, type WebfwOptions } from "./webfw.ts";

const APP = `import { word } from "word"; export const app = { fetch: () => new Response(word) };`;

/** The reply of the application of a target. */
async function replyOf(args: readonly string[], options: WebfwOptions): Promise<string> {
  await using webfw = await Webfw.start(["run", "--port", "0", ...args], options);
  return await (await fetch(await webfw.origin())).text();
}

function word(text: string): string {
  return `export const word = "${text}";`;
}

Deno.test("The nearest deno.json above the module counts, wherever the command is run", async () => {
  await using project = await Project.create({
    "deno.json": { imports: { word: "./outer.ts" } },
    "outer.ts": word("outer"),
    "src/app.ts": APP,
    "inner/deno.jsonc": `{ /* a comment */ "imports": { "word": "./word.ts" } }`,
    "inner/word.ts": word("inner"),
    "inner/deep/app.ts": APP,
    "elsewhere/deno.json": { imports: { word: "./word.ts" } },
    "elsewhere/word.ts": word("elsewhere"),
  });
  const elsewhere = join(project.path, "elsewhere");
  assertEquals(await replyOf(["src/app.ts"], { cwd: project.path }), "outer");
  assertEquals(await replyOf([join(project.path, "src/app.ts")], { cwd: elsewhere }), "outer");
  assertEquals(await replyOf(["../inner/deep/app.ts"], { cwd: elsewhere }), "inner");
});

Deno.test("The configuration of the working directory does not count for a module elsewhere", async () => {
  await using module = await Project.create({ "app.ts": APP });
  await using elsewhere = await Project.create({
    "deno.json": { imports: { word: "./word.ts" } },
    "word.ts": word("elsewhere"),
  });
  const { code, stderr } = await Webfw.finish(["run", join(module.path, "app.ts")], { cwd: elsewhere.path });
  assertMatch(stderr, /^error: Cannot load ".*": Import "word" not a dependency/);
  assertEquals(code, 1);
});

Deno.test("--config wins over WEBFW_CONFIG, which wins over the nearest deno.json", async () => {
  await using project = await Project.create({
    "deno.json": { imports: { word: "./nearest.ts" } },
    "nearest.ts": word("nearest"),
    "variable.json": { imports: { word: "./variable.ts" } },
    "variable.ts": word("variable"),
    "option.json": { imports: { word: "./option.ts" } },
    "option.ts": word("option"),
    "app.ts": APP,
  });
  const cwd = project.path;
  const env = { WEBFW_CONFIG: "variable.json" };
  assertEquals(await replyOf(["app.ts"], { cwd }), "nearest");
  assertEquals(await replyOf(["app.ts"], { cwd, env }), "variable");
  assertEquals(await replyOf(["app.ts", "--config", "option.json"], { cwd, env }), "option");
});

Deno.test("The configuration of the working directory counts for a module from a server", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(APP, { headers: { "content-type": "text/typescript" } }),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await using project = await Project.create({
    "deno.json": {
      imports: { word: "data:text/javascript,export const word = 'mapped'" },
      lock: false,
    },
    "src/empty.ts": "",
  });
  const env = { DENO_DIR: join(project.path, "deno_dir") };
  assertEquals(
    await replyOf([`${origin}/app.ts`], {
      cwd: join(project.path, "src"),
      env,
    }),
    "mapped",
  );
});

Deno.test("A project with only a package.json uses its node_modules", async () => {
  await using project = await Project.create({
    "package.json": { dependencies: { word: "1.0.0" } },
    "node_modules/word/package.json": {
      name: "word",
      version: "1.0.0",
      type: "module",
      exports: "./word.js",
    },
    "node_modules/word/word.js": word("from node_modules"),
    "src/app.ts": APP,
    "elsewhere/empty.ts": "",
  });
  assertEquals(await replyOf(["src/app.ts"], { cwd: project.path }), "from node_modules");
  assertEquals(await replyOf(["../src/app.ts"], { cwd: join(project.path, "elsewhere") }), "from node_modules");
});

Deno.test("The lock file of the project gets no entry of the command", async () => {
  await using project = await Project.create({
    "deno.json": { imports: { word: "./word.ts" } },
    "deno.lock": `{\n  "version": "5"\n}\n`,
    "word.ts": word("locked"),
    "app.ts": APP,
  });
  assertEquals(await replyOf(["app.ts", "--", "--frozen"], { cwd: project.path }), "locked");
  assertEquals(await Deno.readTextFile(join(project.path, "deno.lock")), `{\n  "version": "5"\n}\n`);
});
