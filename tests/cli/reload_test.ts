import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { freePorts } from "../support/free_ports.ts";
import { Project } from "./project.ts";
import { until } from "../support/wait.ts";
import { Webfw } from "./webfw.ts";

const ARGS = ["run", "main.ts:app", "--reload", "--port"];

/** An application that replies with the word of `word.ts`. */
const MAIN = `import { word } from "./word.ts";
export const app = { fetch: () => new Response(word) };`;

async function reply(origin: string): Promise<string | null> {
  try {
    return await (await fetch(origin)).text();
  } catch {
    return null; // between two starts
  }
}

function replies(origin: string, text: string): Promise<void> {
  return until(`${origin} replies "${text}"`, async () => await reply(origin) === text);
}

Deno.test("An edit of any module of the program is served, at the same address", async () => {
  await using project = await Project.create({
    "main.ts": MAIN,
    "word.ts": `export const word = "one";`,
  });
  await using webfw = await Webfw.start([...ARGS, `${freePorts(1)[0]}`], {
    cwd: project.path,
  });
  const origin = await webfw.origin();
  await replies(origin, "one");
  await project.write("word.ts", `export const word = "two";`);
  await replies(origin, "two");
  await project.write("main.ts", MAIN.replace("(word)", `(word + "!")`));
  await replies(origin, "two!");
});

Deno.test("An edit is seen when the editor puts a new file in the place of the old", async () => {
  await using project = await Project.create({
    "main.ts": MAIN,
    "word.ts": `export const word = "one";`,
  });
  await using webfw = await Webfw.start([...ARGS, `${freePorts(1)[0]}`], {
    cwd: project.path,
  });
  const origin = await webfw.origin();
  for (const word of ["two", "three"]) {
    await project.write("word.ts.draft", `export const word = "${word}";`);
    await Deno.rename(join(project.path, "word.ts.draft"), join(project.path, "word.ts"));
    await replies(origin, word);
  }
});

Deno.test("A broken module waits for the next edit", async (t) => {
  const breakages: [name: string, word: string, message: RegExp][] = [
    ["a syntax error", "export const word = ;", /^error: Cannot load "main\.ts": .*word\.ts:1/],
    [
      "an import of what does not exist",
      `export * from "./nowhere.ts";`,
      /^error: Cannot load "main\.ts": Module not found/,
    ],
    [
      "an error that it throws",
      `export const word = ""; throw new Error("broken");`,
      /^error: "main\.ts" threw while it was loaded$/,
    ],
    [
      "a missing export",
      "export const other = 1;",
      /^error: Cannot load "main\.ts": .*'word'/,
    ],
  ];
  for (const [name, word, message] of breakages) {
    await t.step(`${name}, at the first start`, async () => {
      await using project = await Project.create({
        "main.ts": MAIN,
        "word.ts": word,
      });
      await using webfw = await Webfw.start([...ARGS, "0"], {
        cwd: project.path,
      });
      await webfw.stderr.next(message);
      await webfw.stderr.next(/^Waiting for a change$/);
      await project.write("word.ts", `export const word = "mended";`);
      assertEquals(await reply(await webfw.origin()), "mended");
    });
    await t.step(`${name}, later`, async () => {
      await using project = await Project.create({
        "main.ts": MAIN,
        "word.ts": `export const word = "one";`,
      });
      await using webfw = await Webfw.start([...ARGS, "0"], {
        cwd: project.path,
      });
      assertEquals(await reply(await webfw.origin()), "one");
      await project.write("word.ts", word);
      await webfw.stderr.next(message);
      await webfw.stderr.next(/^Waiting for a change$/);
      await project.write("word.ts", `export const word = "mended";`);
      assertEquals(await reply(await webfw.origin()), "mended");
    });
  }
});

Deno.test("A missing application waits for the next edit", async () => {
  await using project = await Project.create({
    "main.ts": "export const ap = 1;",
  });
  await using webfw = await Webfw.start([...ARGS, "0"], { cwd: project.path });
  await webfw.stderr.next(/^error: Cannot find "app" in "main\.ts": it exports "ap", export the application as "app"$/);
  await webfw.stderr.next(/^Waiting for a change$/);
  await project.write("main.ts", `export const app = { fetch: () => new Response("found") };`);
  assertEquals(await reply(await webfw.origin()), "found");
});

Deno.test("A missing module is served as soon as it exists", async () => {
  await using project = await Project.create({ "main.ts": MAIN });
  await using webfw = await Webfw.start([...ARGS, "0"], { cwd: project.path });
  await webfw.stderr.next(/^Waiting for a change$/);
  await project.write("word.ts", `export const word = "new";`);
  assertEquals(await reply(await webfw.origin()), "new");
  await project.remove("word.ts");
  await webfw.stderr.next(/^Waiting for a change$/);
  await project.write("word.ts", `export const word = "back";`);
  assertEquals(await reply(await webfw.origin()), "back");
});

Deno.test("A program that leaves a timer behind restarts and stops", async () => {
  const main = (text: string) =>
    `setInterval(() => {}, 1_000); export const app = { fetch: () => new Response("${text}") };`;
  await using project = await Project.create({ "main.ts": main("one") });
  await using webfw = await Webfw.start([...ARGS, "0"], { cwd: project.path });
  assertEquals(await reply(await webfw.origin()), "one");
  await project.write("main.ts", main("two"));
  assertEquals(await reply(await webfw.origin()), "two");
  webfw.signal("SIGINT");
  assertEquals(await webfw.end(), 0);
});

Deno.test("An edit of the configuration is seen", async () => {
  await using project = await Project.create({
    "deno.json": { imports: { "word": "./one.ts" } },
    "main.ts": MAIN.replace("./word.ts", "word"),
    "one.ts": `export const word = "one";`,
    "two.ts": `export const word = "two";`,
  });
  await using webfw = await Webfw.start([...ARGS, "0"], { cwd: project.path });
  assertEquals(await reply(await webfw.origin()), "one");
  await project.write("deno.json", { imports: { "word": "./two.ts" } });
  assertEquals(await reply(await webfw.origin()), "two");
});

Deno.test("A file that no module imports is watched if a flag of Deno names it", async () => {
  await using project = await Project.create({
    "main.ts": `const word = await Deno.readTextFile("word.txt");
      export const app = { fetch: () => new Response(word) };`,
    "word.txt": "one",
  });
  await using webfw = await Webfw.start([...ARGS, "0", "--", "--watch=word.txt"], { cwd: project.path });
  assertEquals(await reply(await webfw.origin()), "one");
  await project.write("word.txt", "two");
  assertEquals(await reply(await webfw.origin()), "two");
});

Deno.test("Deno's own --watch works like --reload", async () => {
  const main = (word: string) => `export const app = { fetch: () => new Response("${word}") };`;
  await using project = await Project.create({ "main.ts": main("one") });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--", "--watch"], { cwd: project.path });
  assertEquals(await reply(await webfw.origin()), "one");
  await project.write("main.ts", main("two"));
  assertEquals(await reply(await webfw.origin()), "two");
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
});

Deno.test("A program that has ended is started by the next edit", async () => {
  const main = (line: string) => `${line} export const app = { fetch: () => new Response("serves") };`;
  await using project = await Project.create({
    "main.ts": main("Deno.exit(3);"),
  });
  await using webfw = await Webfw.start([...ARGS, "0"], { cwd: project.path });
  assertMatch((await webfw.stderr.next(/^Watcher .*exit code 3/)).input, /Restarting on file change/);
  await project.write("main.ts", main(""));
  assertEquals(await reply(await webfw.origin()), "serves");
});
