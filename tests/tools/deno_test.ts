// The runner as a process: the options and signals that it passes on to its command.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";

const TOOL = join(import.meta.dirname!, "..", "..", "dev", "tools", "deno.ts");

function command(args: string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", TOOL, ...args],
    env: { WEBFW_OFFLINE: "1", NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

function moduleOf(program: string): string {
  return `data:text/javascript,${encodeURIComponent(program)}`;
}

Deno.test("arguments, standard output, standard error and the exit code pass through", async () => {
  const program = `console.log(JSON.stringify(Deno.args));
    console.error("on standard error");
    Deno.exit(7);`;
  const args = ["run", "-A", moduleOf(program), "--config", "a b", "--", "*"];
  const { code, stdout, stderr } = await command(args).output();
  const text = new TextDecoder();
  assertEquals(JSON.parse(text.decode(stdout)), ["--config", "a b", "--", "*"]);
  assertEquals(text.decode(stderr), "on standard error\n");
  assertEquals(code, 7);
});

Deno.test("a configuration that the caller names is left in place", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const config = join(folder, "deno.json");
    const imports = { greeting: moduleOf(`export default "hello";`) };
    await Deno.writeTextFile(config, JSON.stringify({ imports }));
    const main = moduleOf(`import text from "greeting"; console.log(text);`);
    for (const named of [[`--config=${config}`], ["-c", config]]) {
      const { stdout, stderr } = await command(["run", ...named, main])
        .output();
      assertEquals(
        new TextDecoder().decode(stdout),
        "hello\n",
        new TextDecoder().decode(stderr),
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Deno reports unknown arguments", async () => {
  const { success, stderr } = await command(["run", "--no-such-flag"]).output();
  assertEquals(success, false);
  assertStringIncludes(new TextDecoder().decode(stderr), "--no-such-flag");
});

Deno.test({
  name: "a signal to the runner ends the command in the command's own way",
  ignore: Deno.build.os === "windows",
  async fn() {
    const program = `let onEnd;
      const ended = new Promise((resolve) => onEnd = resolve);
      setInterval(() => {}, 1000);
      for (const signal of ["SIGINT", "SIGTERM"]) {
        Deno.addSignalListener(signal, () => onEnd(signal));
      }
      console.log("ready");
      console.log(await ended);
      Deno.exit(9);`;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const child = command(["run", "-A", moduleOf(program)]).spawn();
      const reader = child.stdout
        .pipeThrough(new TextDecoderStream()).getReader();
      let printed = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        printed += value;
        if (printed === "ready\n") child.kill(signal);
      }
      assertEquals(printed, `ready\n${signal}\n`);
      assertEquals((await child.status).code, 9);
      await child.stderr.cancel();
    }
  },
});
