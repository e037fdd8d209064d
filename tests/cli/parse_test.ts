import { assertEquals, assertThrows } from "@std/assert";
import {
  type Command,
  CommandError,
  type Invocation,
  parseInvocation,
  withPermissions,
} from "../../src/cli/command.ts";

const COMMAND: Command = {
  name: "run",
  summary: "Serve an application",
  operand: { name: "module" },
  options: [
    { name: "reload", description: "Start anew" },
    { name: "port", value: "port", letter: "p", description: "Port" },
  ],
  takesDenoFlags: true,
  details: "",
  examples: [],
  run: () => Promise.resolve(0),
};

function parse(...args: string[]): Invocation {
  return parseInvocation(COMMAND, args)!;
}

Deno.test("Options are taken before and after the operand, by name and by letter", () => {
  for (
    const args of [
      ["main.ts", "--reload", "--port", "1"],
      ["--reload", "main.ts", "--port=1"],
      ["-p", "1", "--reload", "main.ts"],
      ["--port", "1", "main.ts", "--reload"],
    ]
  ) {
    const { operand, values, switches } = parse(...args);
    assertEquals(operand, "main.ts");
    assertEquals(values.get("port"), "1");
    assertEquals([...switches], ["reload"]);
  }
});

Deno.test("Values and operands stay text", () => {
  const { operand, values } = parse("1e3", "--port", "007");
  assertEquals([operand, values.get("port")], ["1e3", "007"]);
});

Deno.test("Permission flags and what follows -- are Deno's", () => {
  const { operand, denoFlags } = parse("--allow-net", "main.ts", "-R=data", "-P", "--", "--env-file", "--reload");
  assertEquals(operand, "main.ts");
  assertEquals(denoFlags, [
    "--allow-net",
    "-R=data",
    "-P",
    "--env-file",
    "--reload",
  ]);
});

Deno.test("All permissions are granted, unless a flag names permissions", () => {
  for (
    const flag of [
      "-A",
      "-P",
      "-P=web",
      "-RN",
      "-N=localhost:80",
      "--allow-read",
      "--deny-net=a.b",
      "--ignore-env=HOME",
    ]
  ) {
    assertEquals(withPermissions(["--env-file", flag]), ["--env-file", flag]);
  }
  for (
    const flags of [[], ["--env-file"], ["--no-prompt"], ["--allow-scripts"]]
  ) {
    assertEquals(withPermissions(flags), ["-A", ...flags]);
  }
});

Deno.test("A command that starts no program takes no flags for Deno", () => {
  const command = { ...COMMAND, takesDenoFlags: false };
  for (
    const args of [["main.ts", "--", "--env-file"], ["main.ts", "--allow-net"]]
  ) {
    assertThrows(() => parseInvocation(command, args), CommandError);
  }
});

Deno.test("--help and -h print help, whatever the other arguments are", () => {
  for (const args of [["--help"], ["-h"], ["main.ts", "more", "-h"]]) {
    assertEquals(parseInvocation(COMMAND, args), null);
  }
});

Deno.test("Invalid arguments are an error of one line, with a hint", () => {
  const cases: [args: string[], message: string][] = [
    [["--relaod", "main.ts"], `Unknown option "--relaod": did you mean "--reload"?`],
    [["--prt=1", "main.ts"], `Unknown option "--prt": did you mean "--port"?`],
    [
      ["--__proto__=1", "main.ts"],
      `Unknown option "--__proto__": flags of "deno run" follow "--", see "webfw run --help"`,
    ],
    [
      ["--no-reload", "main.ts"],
      `Unknown option "--no-reload": did you mean "--reload"?`,
    ],
    [["-x", "main.ts"], `Unknown option "-x": flags of "deno run" follow "--"`],
    [["-P", "1", "-H"], `Unknown option "-H": did you mean "-h"?`],
    [["--port", "--reload", "main.ts"], `Option "--port" needs a value`],
    [[], `<module> is missing: see "webfw run --help"`],
    [["--port", "1"], `<module> is missing`],
    [["main.ts", "--port"], `Option "--port" needs a value`],
    [["main.ts", "--port="], `Option "--port" needs a value`],
    [["main.ts", "--port", "--reload"], `Option "--port" needs a value`],
    [["main.ts", "other.ts"], `Unexpected argument "other.ts"`],
  ];
  for (const [args, message] of cases) {
    const error = assertThrows(() => parse(...args), CommandError, message);
    assertEquals((error as CommandError).exitCode, 2);
    assertEquals((error as CommandError).message.includes("\n"), false);
  }
});
