// Other platforms than Deno and browsers, for tests of the client.

import { join } from "node:path";
import { bundle } from "../../../dev/tools/bundle.ts";

/** The command of each platform. Node.js 20 has WebSockets by a flag. Bun comes from npm. */
const COMMANDS = { node: ["node", "--experimental-websocket"], bun: ["npx", "-y", "bun@1"] } as const;

/** Runs an export of a module with a text, and gives what it returns. */
export type RunExport = (module: string, name: string, argument: string) => Promise<unknown>;

/**
 * A test on another platform.
 *
 * Without the platform, the test is ignored, or fails under `WEBFW_REQUIRE_ALL=1`.
 */
export function platformTest(
  title: string,
  platform: keyof typeof COMMANDS,
  test: (run: RunExport) => Promise<void>,
): void {
  Deno.test(title, async () => {
    const command = COMMANDS[platform];
    if (!await isThere(command) && Deno.env.get("WEBFW_REQUIRE_ALL") !== "1") {
      return console.warn(`Left out for want of ${platform}: put "${command[0]}" on the PATH`);
    }
    const folder = await Deno.makeTempDir({ prefix: "webfw_client_" });
    try {
      await test(async (module, name, argument) => {
        await bundle(module, folder, { splits: true, minifies: true });
        const bundled = "./" + module.replace(/^.*[\\/]|\.ts$/g, "") + ".js";
        const program =
          `import { ${name} } from "${bundled}"; console.log(JSON.stringify(await ${name}("${argument}")));`;
        await Deno.writeTextFile(join(folder, "package.json"), '{ "type": "module" }');
        await Deno.writeTextFile(join(folder, "program.js"), program);
        const output = await runIn(folder, [...command, "program.js"]);
        return JSON.parse(output);
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

async function isThere(command: readonly string[]): Promise<boolean> {
  return await runIn(Deno.cwd(), [...command, "--version"]).then(() => true, () => false);
}

async function runIn(cwd: string, [program = "", ...args]: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd, stdin: "null" }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run ${program}: ${new TextDecoder().decode(stderr)}`);
}
