import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { prepareDeno } from "../../dev/tools/deno.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

const HERE = { cwd: Deno.cwd() };

Deno.test("--version prints the version of the package", async () => {
  for (const flag of ["--version", "-V"]) {
    const { code, stdout } = await Webfw.finish([flag], HERE);
    assertEquals(stdout, `webfw ${config.version} (Deno ${Deno.version.deno})`);
    assertEquals(code, 0);
  }
});

Deno.test("--help lists the commands, and a command's --help its options", async () => {
  const program = await Webfw.finish(["--help"], HERE);
  assertEquals(program.code, 0);
  for (const command of ["run", "openapi", "asyncapi", "routes", "topics", "completions", "help"]) {
    assertMatch(program.stdout, new RegExp(`^ {2}${command} +\\w`, "m"));
  }
  const run = await Webfw.finish(["run", "--help"], HERE);
  assertEquals(run.code, 0);
  for (
    const option of ["reload", "host <host>", "port <port>", "check", "quiet", "config <file>"]
  ) {
    assertMatch(run.stdout, new RegExp(`^ +(?:-\\w, )?--${option} +\\w`, "m"));
  }
});

Deno.test("help prints the same as --help, of the program and of a command", async () => {
  const same = [[["help"], ["--help"]], [["help", "run"], ["run", "--help"]], [["help", "help"], ["help", "-h"]]];
  for (const [args, others] of same as [string[], string[]][]) {
    const [one, other] = await Promise.all([Webfw.finish(args, HERE), Webfw.finish(others, HERE)]);
    assertEquals(one, other);
    assertEquals([one.code, one.stderr], [0, ""]);
  }
  const { code, stderr } = await Webfw.finish(["help", "rum"], HERE);
  assertEquals([code, stderr], [2, `error: Unknown command "rum": did you mean "run"?`]);
});

Deno.test("The help of a command has examples of this command alone, in lines that fit 100 columns", async () => {
  for (const command of ["run", "openapi", "asyncapi", "routes", "topics", "completions", "help"]) {
    const { stdout } = await Webfw.finish(["help", command], HERE);
    const examples = stdout.split("\n").filter((line) => /^ {2}\S/.test(line) && /\bwebfw\b/.test(line));
    assertEquals(examples.length > 0, true, command);
    assertEquals(examples.filter((line) => !line.includes(`webfw ${command} `)), []);
    for (const line of stdout.split("\n")) assertEquals(line.length <= 100, true, line);
  }
});

Deno.test("The help has every variable that the program or the framework reads", async () => {
  const { stdout } = await Webfw.finish(["help"], HERE);
  for (const line of stdout.split("\n")) assertEquals(line.length <= 100, true, line);
  const [, environment = ""] = stdout.split("Environment:\n");
  const src = fileURLToPath(new URL("../../src", import.meta.url));
  const read = new Set<string>();
  for await (const file of sourceFiles(src)) {
    if (file.endsWith(join("cli", "program.ts"))) continue;
    const source = await Deno.readTextFile(file);
    for (const [, name = ""] of source.matchAll(/"((?:WEBFW|DENO)_[A-Z_]+)"/g)) read.add(name);
  }
  assertEquals(read.has("WEBFW_LOG"), true);
  // Deno Deploy sets these.
  for (const name of ["DENO_DEPLOY", "DENO_DEPLOYMENT_ID"]) read.delete(name);
  assertEquals([...read].filter((name) => !new RegExp(`^  ${name} {2,}\\w`, "m").test(environment)), []);
});

/** The modules below a folder. */
async function* sourceFiles(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* sourceFiles(join(folder, name));
    else if (name.endsWith(".ts")) yield join(folder, name);
  }
}

Deno.test("A command line that cannot be understood is one line with a hint, and exit code 2", async () => {
  const cases: [args: string[], line: string][] = [
    [["rnu", "main.ts"], `error: Unknown command "rnu": did you mean "run"?`],
    [["route"], `error: Unknown command "route": did you mean "routes"?`],
    [["--verison"], `error: Unknown option "--verison": did you mean "--version"?`],
    [["-v"], `error: Unknown option "-v": did you mean "-V"?`],
    [["version"], `error: Unknown command "version": did you mean "--version"?`],
    [["new", "shop"], `error: Unknown command "new": did you mean "init"?`],
    [["create", "shop"], `error: Unknown command "create": did you mean "init"?`],
    [["constructor"], `error: Unknown command "constructor": did you mean "run"?`],
    [["serve", "main.ts"], `error: Unknown command "serve": did you mean "run"?`],
    [["main.ts:app"], `error: Unknown command "main.ts:app": did you mean "run main.ts:app"?`],
    [["./main"], `error: Unknown command "./main": did you mean "run ./main"?`],
    [["run", "main.ts", "--prot", "1"], `error: Unknown option "--prot": did you mean "--port"?`],
    [["run", "main.ts", "--port", "80a"], `error: Cannot use port "80a": expected a whole number from 0 to 65535`],
    [["run", "main.ts", "--port", "65536"], `error: Cannot use port "65536": expected a whole number from 0 to 65535`],
    [["run", "main.ts", "--port", "-1"], `error: Cannot use port "-1": expected a whole number from 0 to 65535`],
    [
      ["run", "main.ts", "--inspect"],
      `error: Unknown option "--inspect": flags of "deno run" follow "--", see "webfw run --help"`,
    ],
    [["completions", "--verbose"], `error: Unknown option "--verbose": see "webfw completions --help"`],
    [["run", ":app"], `error: Cannot read target ":app": expected <module>:<attribute>, such as main.ts:app`],
    [
      ["completions", "csh"],
      `error: Unknown shell "csh": expected bash, zsh, fish`,
    ],
  ];
  for (const [args, line] of cases) {
    assertEquals(await Webfw.finish(args, HERE), {
      code: 2,
      stdout: "",
      stderr: line,
    });
  }
});

Deno.test("Without a command the help is shown, and the exit code is 2", async () => {
  const { code, stdout, stderr } = await Webfw.finish([], HERE);
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /^Usage: webfw <command>/m);
});

/** The command line under another version of Deno. */
async function runWith(version: string, args: readonly string[], env: Record<string, string> = {}) {
  await using project = await Project.create({
    "main.ts": `export const app = { [Symbol.for("webfw.app")]: { version: 1 }, routes: [] };`,
  });
  const cli = JSON.stringify(new URL("../../cli.ts", import.meta.url).href);
  const program = `Object.defineProperty(Deno, "version", { value: { ...Deno.version, deno: "${version}" } });
    const { main } = await import(${cli});
    Deno.exit(await main(${JSON.stringify(args)}));`;
  await using prepared = await prepareDeno(["run", "-A", "--quiet", `data:text/javascript,${program}`], {
    cwd: project.path,
    env: { WEBFW_CONFIG: "", NO_COLOR: "1", ...env },
  });
  const { code, stdout, stderr } = await prepared.command.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

const ROUTES = ["routes", "main.ts"];

Deno.test("A Deno that is too old is refused in one line, with its version and the oldest one", async () => {
  for (const version of ["2.8.3", "2.5.0", "1.46.3"]) {
    assertEquals(await runWith(version, ROUTES), {
      code: 1,
      stdout: "",
      stderr: `error: Cannot run with Deno ${version}: webfw needs Deno 2.9 or newer, upgrade Deno\n`,
    });
  }
});

Deno.test("The oldest Deno and newer ones serve, and any Deno prints help and version", async () => {
  for (const version of ["2.9.0", "2.10.0-rc.1", "3.0.0", Deno.version.deno]) {
    const { code, stdout, stderr } = await runWith(version, ROUTES);
    assertEquals([code, stderr], [0, ""], version);
    assertMatch(stdout, /^METHOD/);
  }
  for (const args of [["--version"], ["--help"], ["routes", "--help"]]) {
    assertEquals((await runWith("2.8.3", args)).code, 0);
  }
});

Deno.test("Deno Deploy, which has its own version numbers, is not refused", async () => {
  assertEquals((await runWith("2.8.3", ROUTES, { DENO_DEPLOY: "true" })).code, 0);
});
