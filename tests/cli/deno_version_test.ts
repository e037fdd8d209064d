import { assertEquals, assertMatch } from "@std/assert";
import { prepareDeno } from "../../tools/deno.ts";
import { Project } from "./project.ts";

/** The command line as it is run by a Deno of another version. */
async function runWith(version: string, args: readonly string[], env: Record<string, string> = {}) {
  await using project = await Project.create({
    "main.ts": `export const app = { [Symbol.for("webfw.app")]: 1, routes: [] };`,
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

Deno.test("Deno Deploy, which has versions of its own, is not refused", async () => {
  assertEquals((await runWith("2.8.3", ROUTES, { DENO_DEPLOY: "true" })).code, 0);
});
