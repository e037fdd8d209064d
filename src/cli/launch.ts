/** Starts the process of an application: the common part of the commands that work on one. */

import { runChild } from "./child.ts";
import { CommandError, type Invocation, type Operand, type Option } from "./command.ts";
import { withPermissions } from "./parse.ts";
import { KV_FLAG } from "./permission_flags.ts";
import { configFlags, findModule, parseTarget } from "./project.ts";
import type { Load, Runner, RunnerOptions } from "./runner/runner.ts";

/** The operand that names an application. */
export const TARGET: Operand = { name: "module[:attribute]" };

/** The option for the configuration of the application. */
export const CONFIG: Option = {
  name: "config",
  value: "file",
  description: "Configuration (default: WEBFW_CONFIG, else deno.json of its project)",
};

export const TARGET_DETAILS =
  `The module is a path, a URL, or a jsr: or npm: specifier; of a folder, it is the file main.ts,
main.tsx or main.js. The attribute is the name that it exports the application by: "app",
else "default", unless given. Anything with a "fetch" function is served; an App of webfw
can do more.

The program may do everything (-A), unless permission flags of "deno run" say what it may.
Other flags of "deno run" follow "--".`;

/** The oldest Deno that is supported: major and minor version. */
const OLDEST_DENO = [2, 9] as const;

/** How an application is started. */
export interface Launch<Options extends RunnerOptions> {
  /** The class of the program. */
  readonly runner: new (load: Load, options: Options) => Runner<Options>;
  /** The options of this runner alone. */
  readonly options: Omit<Options, keyof RunnerOptions>;
  /** Whether the program restarts when one of its files changes. */
  readonly isWatched?: boolean;
  /** Whether types are checked first. */
  readonly isChecked?: boolean;
  /** More flags for `deno run`. */
  readonly flags?: readonly string[];
  /** How long the program serves on after it was asked to stop, in milliseconds. */
  readonly drainDelay?: number;
}

/** Runs a program on an application, waits for its end, and gives the exit code. */
export async function runOnTarget<Options extends RunnerOptions>(
  invocation: Invocation,
  launch: Launch<Options>,
): Promise<number> {
  const { isWatched = false, drainDelay = 0 } = launch;
  return await runChild({ isWatcher: isWatched, drainDelay, args: await denoArguments(invocation, launch) });
}

/** The arguments of the `deno` that runs a program on an application. */
export async function denoArguments<Options extends RunnerOptions>(
  { operand, values, denoFlags }: Invocation,
  { runner, options, isWatched = false, isChecked = false, flags = [] }: Launch<Options>,
): Promise<string[]> {
  requireDeno();
  const directory = Deno.cwd();
  const target = await findModule(parseTarget(operand, directory));
  const namedConfig = values.get(CONFIG.name) ?? (Deno.env.get("WEBFW_CONFIG") || undefined);
  const config = await configFlags(target, namedConfig, directory);
  const { module, attribute, specifier } = target;
  // Deno would print the URL of the program as what it checks.
  const hasCheckFlag = denoFlags.some((flag) => /^--check(=|$)/.test(flag));
  const isQuiet = (isChecked || hasCheckFlag) && !denoFlags.some((flag) => flag === "-q" || flag === "--quiet");
  if (isQuiet) console.error(`Check ${module}`);
  return [
    "run",
    KV_FLAG,
    ...flags,
    ...(isChecked && !hasCheckFlag ? ["--check"] : []),
    ...withPermissions(denoFlags),
    ...config,
    ...(isQuiet ? ["--quiet"] : []),
    ...(isWatched ? ["--watch", "--no-clear-screen"] : []),
    toDataUrl(runnerSource(runner, specifier, { ...options, module, attribute, isWatched, parent: Deno.pid })),
  ];
}

/**
 * The source of the program that `deno run` is given. It imports the user's module alone, so that
 * the project's deno.json resolves the framework, and its lock file gets no line of the command.
 * The classes of the program are sent as text: an import of them from a registry would be such a
 * line, and would need permissions.
 */
export function runnerSource(runner: { readonly name: string }, specifier: string, options: object): string {
  const classes: unknown[] = [];
  for (let type: unknown = runner; type !== Function.prototype; type = Object.getPrototypeOf(type)) {
    classes.unshift(type);
  }
  // Only an import of a literal is in the module graph: it needs no permission, and is watched.
  const load = `() => import(${JSON.stringify(specifier)})`;
  return [
    // Without indentation, which is long in a URL. No text in the classes has several lines.
    ...classes.map((type) => String(type).replaceAll(/^ +/gm, "")),
    // The framework keeps files next to the main module, which is the user's and not this text.
    `globalThis[Symbol.for("webfw.main")] = ${JSON.stringify(specifier)};`,
    `await new ${runner.name}(${load}, ${JSON.stringify(options)}).run();`,
  ].join("\n");
}

function toDataUrl(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/**
 * Refuses a Deno that is too old. Deno Deploy has its own versions, and is not refused.
 *
 * @throws {CommandError} If it is too old.
 */
function requireDeno(): void {
  const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_DENO;
  if (major > oldestMajor || major === oldestMajor && minor >= oldestMinor) return;
  if (Deno.env.has("DENO_DEPLOY")) return;
  throw new CommandError(
    `Cannot run with Deno ${Deno.version.deno}: webfw needs Deno ${OLDEST_DENO.join(".")} or newer, upgrade Deno`,
  );
}
