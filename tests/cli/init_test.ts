// Shipping, section 1: `webfw init [folder]`. tests/published runs what it writes.

import { assertEquals, assertMatch } from "@std/assert";
import { dirname, join } from "node:path";
import files from "../../src/cli/template.json" with { type: "json" };
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

/** All files below a folder and their texts, by their paths. */
async function filesOf(folder: string, path = ""): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for await (const { name, isDirectory } of Deno.readDir(join(folder, path))) {
    const file = path + name;
    if (isDirectory) Object.assign(texts, await filesOf(folder, `${file}/`));
    else texts[file] = await Deno.readTextFile(join(folder, file));
  }
  return texts;
}

/** What a user whose Deno was started by npx has to write. */
const DENO = Deno.execPath().includes("_npx") ? "npx -y deno@2" : "deno";

Deno.test("webfw init [folder] asks nothing when given a folder, and writes the service", async () => {
  await using project = await Project.create({});
  const { code, stdout, stderr } = await Webfw.finish(["init", "new/shop"], { cwd: project.path });
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout.split("\n"), [
    `Wrote ${Object.keys(files).length} files to new/shop. Next:`,
    "",
    "  cd new/shop",
    `  ${DENO} task dev   # serves on http://127.0.0.1:8000`,
    `  ${DENO} task test`,
  ]);
  const { "deno.json": config, ...written } = await filesOf(join(project.path, "new/shop"));
  const { "deno.json": template, ...expected } = files;
  assertEquals(written, expected);
  // This command is part of a clone, from which the service takes the packages, too.
  const { links, ...rest } = JSON.parse(config!);
  assertEquals(rest, JSON.parse(template));
  const core = await Deno.realPath(join(project.path, "new/shop", links[0]));
  assertEquals(core, await Deno.realPath(join(dirname(import.meta.filename!), "../..")));
});

Deno.test("it writes deno.json (tasks dev, test, check, spec; the lint line), main.ts, a test, and the rest", () => {
  const { tasks, lint } = JSON.parse(files["deno.json"]);
  assertEquals(Object.keys(tasks), ["dev", "test", "check", "spec"]);
  assertEquals(lint, { rules: { exclude: ["require-await"] } });
  const names = [".github/workflows/test.yml", ".gitignore", "Dockerfile", "README.md", "main.ts", "main_test.ts"];
  assertEquals(names.filter((name) => !(name in files)), []);
});

Deno.test("what it writes has the format that its own task check asks for", async () => {
  await using project = await Project.create(files);
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args: ["fmt", "--check"], cwd: project.path })
    .output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
});

Deno.test("webfw init takes the current folder, also a repository without files", async () => {
  await using project = await Project.create({ ".git/HEAD": "ref: refs/heads/main\n" });
  const { code, stdout } = await Webfw.finish(["init"], { cwd: project.path });
  assertEquals(code, 0);
  assertMatch(stdout, /^Wrote \d+ files\. Next:\n\n {2}(npx -y deno@2|deno) task dev /);
  assertEquals((await filesOf(project.path))["main.ts"], files["main.ts"]);
});

Deno.test("A folder that is not empty is refused; nothing is overwritten", async () => {
  for (const name of ["main.ts", "notes.txt", ".env", "src/x.ts"]) {
    await using project = await Project.create({ [`shop/${name}`]: "mine" });
    for (const [operand, cwd] of [["shop", project.path], [".", join(project.path, "shop")]] as const) {
      const finished = await Webfw.finish(["init", operand], { cwd });
      assertEquals(finished, {
        code: 1,
        stdout: "",
        stderr: `error: Cannot write a service to "${operand}": the folder is not empty, name another one`,
      });
    }
    assertEquals(await filesOf(project.path), { [`shop/${name}`]: "mine" });
  }
});

Deno.test("webfw init refuses a file, and what it cannot make, in one line", async () => {
  await using project = await Project.create({ "file": "mine" });
  const cases: [operand: string, line: RegExp][] = [
    ["file", /^error: Cannot write a service to "file": it is a file, name another folder$/],
    ["file/shop", /^error: Cannot write a service to "file\/shop": .+$/],
  ];
  for (const [operand, line] of cases) {
    const { code, stderr } = await Webfw.finish(["init", operand], { cwd: project.path });
    assertEquals(code, 1);
    assertMatch(stderr, line);
  }
  assertEquals(await filesOf(project.path), { file: "mine" });
});
