import { assertEquals, assertMatch } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
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
  for (const command of ["run", "openapi", "routes", "topics", "completions"]) {
    assertMatch(program.stdout, new RegExp(`^ {2}${command} +\\w`, "m"));
  }
  const run = await Webfw.finish(["run", "--help"], HERE);
  assertEquals(run.code, 0);
  for (
    const option of ["reload", "host <host>", "port <port>", "config <file>"]
  ) {
    assertMatch(run.stdout, new RegExp(`^ +--${option} +\\w`, "m"));
  }
});

Deno.test("A line of the help fits a terminal of 120 columns", async () => {
  for (
    const args of [["--help"], ["run", "--help"], ["openapi", "--help"], ["routes", "--help"], [
      "completions",
      "--help",
    ]]
  ) {
    const { stdout } = await Webfw.finish(args, HERE);
    for (const line of stdout.split("\n")) {
      assertEquals(line.length <= 120, true, line);
    }
  }
});

Deno.test("A command line that cannot be understood is one line with a hint, and exit code 2", async () => {
  const cases: [args: string[], line: string][] = [
    [["rnu", "main.ts"], `error: Unknown command "rnu": did you mean "run"?`],
    [["route"], `error: Unknown command "route": did you mean "routes"?`],
    [["--verison"], `error: Unknown option "--verison": did you mean "--version"?`],
    [["run", "main.ts", "--prot", "1"], `error: Unknown option "--prot": did you mean "--port"?`],
    [["run", "main.ts", "--port", "80a"], `error: Cannot use port "80a": expected a whole number from 0 to 65535`],
    [["run", "main.ts", "--port", "65536"], `error: Cannot use port "65536": expected a whole number from 0 to 65535`],
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
