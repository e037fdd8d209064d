// Shipping, section 1: "app.run() takes PORT and WEBFW_HOST where no option is given and the variable
// may be read".

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type ChildOptions, ChildProgram, CORE } from "../spec/support/child_program.ts";

const HINT = /^\S+ INFO Only this machine can connect: set WEBFW_HOST=0\.0\.0\.0 to be reached from others$/m;

/** A port that was free a moment ago. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function program(options: string): string {
  return `import { App } from "${CORE}";
    const app = new App();
    app.get("/", async () => "served");
    await app.run(${options});`;
}

/** Starts an application, lets it listen, stops it, and gives what it logged. */
async function logged(options: string, child: ChildOptions): Promise<string> {
  await using running = await ChildProgram.start(program(options), child);
  const port = await running.port();
  assertEquals(await (await fetch(`http://127.0.0.1:${port}/`)).json(), "served");
  running.signal("SIGTERM");
  const { code, stderr } = await running.end();
  assertEquals(code, 0, stderr);
  return stderr;
}

Deno.test("app.run() takes PORT and WEBFW_HOST where no option is given", async () => {
  const port = freePort();
  const text = await logged("", { env: { PORT: `${port}`, WEBFW_HOST: "0.0.0.0" } });
  assertMatch(text, new RegExp(` Listening on http://0\\.0\\.0\\.0:${port}$`, "m"));
  assert(!HINT.test(text), text);
});

Deno.test("Options are stronger than PORT and WEBFW_HOST", async () => {
  const env = { PORT: "none", WEBFW_HOST: "0.0.0.0" };
  const text = await logged(`{ port: 0, hostname: "127.0.0.1" }`, { env });
  assertMatch(text, / Listening on http:\/\/127\.0\.0\.1:\d+$/m);
});

Deno.test("An empty PORT or WEBFW_HOST counts as not set", async () => {
  const text = await logged("{ port: 0 }", { env: { PORT: "", WEBFW_HOST: "" } });
  assertMatch(text, / Listening on http:\/\/127\.0\.0\.1:\d+$/m);
});

Deno.test("a start on loopback whose port came from PORT prints one line that tells how to be reached", async () => {
  assertMatch(await logged("", { env: { PORT: "0" } }), HINT);
  // Who names the host has decided.
  for (
    const [options, env] of [
      [`{ hostname: "127.0.0.1" }`, { PORT: "0" }],
      ["", { PORT: "0", WEBFW_HOST: "127.0.0.1" }],
      ["{ port: 0 }", { PORT: "1" }],
    ] as const
  ) {
    const text = await logged(options, { env });
    assert(!HINT.test(text), text);
  }
});

Deno.test("PORT is left alone where the variable may not be read, without a prompt", async () => {
  const permissions = ["--allow-net", "--allow-read", "--allow-import"];
  const env = { PORT: "none", WEBFW_HOST: "none", DENO_NO_PROMPT: "" };
  assertMatch(await logged("{ port: 0 }", { env, permissions }), / Listening on http:\/\/127\.0\.0\.1:\d+$/m);
  const granted = [...permissions, "--allow-env=PORT"];
  const text = await logged("", { env: { ...env, PORT: "0" }, permissions: granted });
  assertMatch(text, / Listening on http:\/\/127\.0\.0\.1:\d+$/m);
});

Deno.test("A PORT that is no port is one clear line, before the application starts", async () => {
  for (const port of ["80a", "65536", "-1", "1.5", "tcp://10.0.0.1:80", " 80"]) {
    const source = program("").replace(
      "await app.run",
      "app.lifespan(async function* () { console.log('started'); yield; });\nawait app.run",
    );
    await using child = await ChildProgram.start(source, { env: { PORT: port } });
    const { code, stdout, stderr } = await child.end();
    assertEquals(
      [code, stdout, stderr.trimEnd()],
      [
        1,
        "",
        `error: Uncaught (in promise) CannotStartError: Cannot listen on the port of the variable PORT: ${
          JSON.stringify(port)
        } is not a port, set a whole number from 0 to 65535`,
      ],
    );
  }
});

Deno.test("A taken port is one line that names it, and so is an address that cannot be listened on", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const cases: [env: Record<string, string>, line: string][] = [
    [
      { PORT: `${port}` },
      `AddrInUse: Cannot listen on 127.0.0.1:${port}: the port is taken, stop the program that has it, or choose another one by the option port or the variable PORT`,
    ],
    [
      { PORT: "0", WEBFW_HOST: "192.0.2.1" },
      "AddrNotAvailable: Cannot listen on 192.0.2.1:0: this machine has no such address, choose one that it has",
    ],
    [
      { PORT: "0", WEBFW_HOST: "http://x" },
      "URIError: Cannot listen on [http://x]:0: no such host is known, name an address of this machine",
    ],
  ];
  for (const [env, line] of cases) {
    await using child = await ChildProgram.start(program(""), { env });
    const { code, stderr } = await child.end();
    assertEquals([code, stderr], [1, `error: Uncaught (in promise) ${line}\n`]);
  }
});

Deno.test("An address that the program may not listen on is one line that names the flag", async () => {
  await using child = await ChildProgram.start(program(""), { env: { PORT: "0" }, permissions: ["--allow-env=PORT"] });
  const { code, stderr } = await child.end();
  assertEquals(
    [code, stderr],
    [
      1,
      "error: Uncaught (in promise) NotCapable: Cannot listen on 127.0.0.1:0: the program may not, allow it by --allow-net=127.0.0.1:0, and by --allow-env=WEBFW_HOST where they name another address\n",
    ],
  );
});
