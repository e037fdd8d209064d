import { assertEquals } from "@std/assert";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

/** Runs a program that may not be installed; then returns `null`. */
async function output(program: string, args: readonly string[], cwd: string): Promise<string | null> {
  try {
    const { stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd,
    }).output();
    return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function scriptFor(shell: string): Promise<Project> {
  const { code, stdout } = await Webfw.finish(["completions", shell], {
    cwd: Deno.cwd(),
  });
  assertEquals(code, 0);
  return await Project.create({ "completions": `${stdout}\n` });
}

Deno.test("bash completes commands, options and shells", async () => {
  await using project = await scriptFor("bash");
  const cases: [words: string[], expected: string][] = [
    [["webfw", "r"], "run routes"],
    [["webfw", "--v"], "--version"],
    [["webfw", "run", "--re"], "--reload"],
    [["wfw", "routes", "--"], "--config --help"],
    [["webfw", "completions", ""], "bash zsh fish"],
    [["webfw", "run", "ma"], ""],
  ];
  for (const [words, expected] of cases) {
    const script = `source ./completions
      COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}) COMP_CWORD=${words.length - 1}
      _webfw; printf %s "\${COMPREPLY[*]}"`;
    const printed = await output("bash", ["--norc", "-c", script], project.path);
    if (printed === null) return console.log("Left out: this machine has no bash");
    assertEquals(printed, expected, words.join(" "));
  }
});

Deno.test("fish completes commands, options and shells", async () => {
  await using project = await scriptFor("fish");
  const cases: [line: string, expected: RegExp][] = [
    ["webfw r", /^routes\t.*\nrun\t.*\n$/],
    ["wfw run --re", /^--reload\t.*\n$/],
    ["webfw completions ", /^bash\nfish\nzsh\n$/],
  ];
  for (const [line, expected] of cases) {
    const printed = await output("fish", ["-N", "-c", `source ./completions; complete -C "${line}"`], project.path);
    if (printed === null) return console.log("Left out: this machine has no fish");
    assertEquals(expected.test(printed), true, printed);
  }
});

Deno.test("zsh reads its completions", async () => {
  await using project = await scriptFor("zsh");
  const printed = await output("zsh", ["-f", "-n", "./completions"], project.path);
  if (printed === null) return console.log("Left out: this machine has no zsh");
  assertEquals(printed, "");
});
