/** Starts the process of an application, stops it, and does not outlive it. */
import { CommandError, type Invocation, KV_FLAG, type Operand, type Option, withPermissions } from "./command.ts";
import { configFlags, findModule, parseTarget } from "./project.ts";
import type { Load, Runner, RunnerOptions } from "./runner/runner.ts";

export const TARGET: Operand = { name: "module[:attribute]" };

export const CONFIG: Option = {
  name: "config",
  value: "file",
  description: "Configuration (default: WEBFW_CONFIG, else deno.json of its project)",
};

export const TARGET_DETAILS =
  `The module is a path, a URL, or a jsr: or npm: specifier. For a folder, it is the file main.ts,
main.tsx or main.js in it. The attribute is the name of the export: "app", else "default",
unless given. Any object with a "fetch" function is served; an App of webfw can do more.

The program has all permissions (-A), unless a permission flag of "deno run" is given.
Other flags of "deno run" follow "--".`;

const OLDEST_DENO = [2, 9] as const;

export interface Launch<Options extends RunnerOptions> {
  readonly runner: new (load: Load, options: Options) => Runner<Options>;
  readonly options: Omit<Options, keyof RunnerOptions>;
  readonly isWatched?: boolean;
  readonly isChecked?: boolean;
  readonly flags?: readonly string[];
  /** How long the program keeps serving after a stop signal, in milliseconds. */
  readonly drainDelay?: number;
}

export async function runOnTarget<Options extends RunnerOptions>(
  invocation: Invocation,
  launch: Launch<Options>,
): Promise<number> {
  const { isWatched = false, drainDelay = 0 } = launch;
  return await runChild({ isWatcher: isWatched, drainDelay, args: await denoArguments(invocation, launch) });
}

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
  // Deno would print the URL of the program.
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
 * The source of the program for `deno run`. It imports only the user's module: the project's
 * deno.json resolves the framework, and its lock file stays unchanged. An import of the classes
 * from a registry would add a line there, and need permissions, so their source is sent.
 */
export function runnerSource(runner: { readonly name: string }, specifier: string, options: object): string {
  const classes: unknown[] = [];
  for (let type: unknown = runner; type !== Function.prototype; type = Object.getPrototypeOf(type)) {
    classes.unshift(type);
  }
  // Imports of literals need no permission, and are watched.
  const load = `() => import(${JSON.stringify(specifier)})`;
  return [
    // Indentation would make the URL long. No string has several lines.
    ...classes.map((type) => String(type).replaceAll(/^ +/gm, "")),
    // The framework stores files next to the main module of the user.
    `globalThis[Symbol.for("webfw.command")] = { main: ${JSON.stringify(specifier)} };`,
    `await new ${runner.name}(${load}, ${JSON.stringify(options)}).run();`,
  ].join("\n");
}

function toDataUrl(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** Deno Deploy has its own versions. */
function requireDeno(): void {
  const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_DENO;
  if (major > oldestMajor || major === oldestMajor && minor >= oldestMinor) return;
  if (Deno.env.has("DENO_DEPLOY")) return;
  throw new CommandError(
    `Cannot run with Deno ${Deno.version.deno}: webfw needs Deno ${OLDEST_DENO.join(".")} or newer, upgrade Deno`,
  );
}

/** Then the process is killed. Requests get 10 s, lifespans the rest. */
const GRACE_MS = 15_000;
/** Deno gives the program in a watcher 500 ms. */
const WATCHER_GRACE_MS = 3_000;
/** If both processes get a signal, the child may end before it arrives here. */
const SIGNAL_SETTLE_MS = 50;

export interface ChildOptions {
  readonly args: readonly string[];
  readonly isWatcher: boolean;
  /** In milliseconds. */
  readonly drainDelay: number;
}

/**
 * Runs Deno until it ends. The exit code is 0 after SIGINT or SIGTERM.
 *
 * A watcher continues after a fatal failure of its program, and does not notice new files. So the
 * program can end the watcher: by SIGKILL for good, by SIGHUP or exit code 0 for another start.
 * Watchers of Deno 2.9.0 and 2.9.1 end with 0 when their program stops for a restart.
 */
export async function runChild({ args, isWatcher, drainDelay }: ChildOptions): Promise<number> {
  let child: Deno.ChildProcess | undefined;
  let killTimer: ReturnType<typeof setTimeout> | undefined;
  let isStopping = false;
  const stop = (signal: Deno.Signal | null) => {
    isStopping = true;
    if (signal !== null) kill(child, signal);
    const grace = isWatcher ? WATCHER_GRACE_MS : GRACE_MS + drainDelay;
    killTimer ??= setTimeout(() => kill(child, "SIGKILL"), grace);
  };
  // A terminal sends Ctrl-C to all processes, including the child.
  const fromTerminal = [Deno.stdin, Deno.stdout, Deno.stderr].some((stream) => stream.isTerminal());
  const onInterrupt = () => stop(fromTerminal ? null : "SIGINT");
  // SIGTERM would stop the program in a watcher, but not the watcher.
  const onTerminate = () => stop(isWatcher ? "SIGINT" : "SIGTERM");
  Deno.addSignalListener("SIGINT", onInterrupt);
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", onTerminate);
  try {
    while (true) {
      child = spawn(args);
      const status = await child.status;
      if (isWatcher || status.signal !== null) {
        await new Promise((resolve) => setTimeout(resolve, SIGNAL_SETTLE_MS));
      }
      if (isStopping) return exitCodeOfStop(status);
      if (!isWatcher) return status.code;
      if (status.signal !== "SIGHUP" && status.code !== 0) {
        return status.signal === "SIGKILL" ? 1 : status.code;
      }
    }
  } finally {
    clearTimeout(killTimer);
    Deno.removeSignalListener("SIGINT", onInterrupt);
    if (Deno.build.os !== "windows") Deno.removeSignalListener("SIGTERM", onTerminate);
  }
}

export async function runForOutput(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; output: Uint8Array }> {
  const { code, stdout } = await new Deno.Command(denoPath(), {
    args: [...args],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  return { code, output: stdout };
}

function spawn(args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(denoPath(), {
    args: [...args],
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
}

/** `deno compile` makes an executable that cannot run other programs. */
function denoPath(): string {
  return Deno.build.standalone ? "deno" : Deno.execPath();
}

function kill(child: Deno.ChildProcess | undefined, signal: Deno.Signal): void {
  try {
    child?.kill(signal);
  } catch (error) {
    // The process has already ended.
    if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function exitCodeOfStop(status: Deno.CommandStatus): number {
  // The signal ended the program, which has no listener for it.
  if (status.code === 130 || status.code === 143) return 0;
  if (status.signal === "SIGKILL") console.error("error: Killed the program: it did not stop in time");
  return status.code;
}
