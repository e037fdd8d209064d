// What the commands that work on an application have in common: the operand, the configuration, the child process.

import type { Invocation, Operand, Option } from "../command.ts";
import { runChild } from "../child.ts";
import { withPermissions } from "../deno_flags.ts";
import { configFlags, requireModule } from "../project.ts";
import { parseTarget, type Target } from "../target.ts";
import type { Plan } from "../boot/plan.ts";

/** The operand that names an application. */
export const TARGET: Operand = { name: "module[:attribute]" };

/** The option for the configuration of the application. */
export const CONFIG: Option = {
  name: "config",
  value: "file",
  description: "Configuration (default: WEBFW_CONFIG, else the deno.json above the module)",
};

/** What the help says of the operand, the permissions and Deno's flags. */
export const TARGET_DETAILS = `The module is a path, a URL, or a jsr: or npm: specifier. The attribute is the name that
it exports the application by: "app", else "default", unless given. Anything with a
"fetch" function is served; an App of webfw can do more.

The program may do everything (-A), unless permission flags of "deno run" say what it may.
Other flags of "deno run" follow "--".`;

/** Deno KV, where topics that outlive the process are kept, is not there without it. */
const KV_FLAG = "--unstable-kv";

/** How an application is started. */
export interface Start {
  /** Whether it starts anew when a file of the program changes. */
  readonly isWatched: boolean;
  /** Flags for `deno run`, beside those that were given. */
  readonly flags?: readonly string[];
  /** Makes the program from the specifier of the module and what every program is told. */
  readonly program: (specifier: string, plan: Plan) => string;
}

/** Starts the program on an application, waits for its end, and gives the exit code. */
export async function runOnTarget(invocation: Invocation, start: Start): Promise<number> {
  return await runChild({ isWatcher: start.isWatched, args: await denoArguments(invocation, start) });
}

/** The arguments of the `deno` that runs the program on an application. */
export async function denoArguments(
  invocation: Invocation,
  { isWatched, flags = [], program }: Start,
): Promise<string[]> {
  const directory = Deno.cwd();
  const target: Target = parseTarget(invocation.operand, directory);
  await requireModule(target);
  const config = await configFlags(target, {
    option: invocation.values.get(CONFIG.name),
    variable: Deno.env.get("WEBFW_CONFIG"),
    directory,
  });
  const { module, attribute, specifier } = target;
  const { denoFlags } = invocation;
  // Deno would say that it checks the module that it is given, which is the text of the program.
  const isQuiet = denoFlags.some((flag) => /^--check(=|$)/.test(flag)) &&
    !denoFlags.some((flag) => flag === "-q" || flag === "--quiet");
  if (isQuiet) console.error(`Check ${module}`);
  return [
    "run",
    KV_FLAG,
    ...flags,
    ...withPermissions(denoFlags),
    ...config,
    ...(isQuiet ? ["--quiet"] : []),
    ...(isWatched ? ["--watch", "--no-clear-screen"] : []),
    program(specifier, { module, attribute, isWatched, parent: Deno.pid }),
  ];
}
