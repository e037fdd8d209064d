// Runs any Deno command with the right resolution for this machine: `@std/*` comes from JSR, or
// from npm through the replacements in dev/offline/ if JSR cannot be reached. `WEBFW_OFFLINE` (1 or 0)
// decides instead of a probe. Imports no package, because it runs before anything can be resolved.

import { join, relative, resolve, sep } from "node:path";
import { canReachJsr } from "./jsr_reach.ts";
import { readRootConfig, writeOfflineConfig } from "./offline_config.ts";
import { stageWorkspace } from "./staged_workspace.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** The commands that take `--config` to resolve modules. */
const TAKES_CONFIG = new Set([
  "bench",
  "bundle",
  "cache",
  "check",
  "compile",
  "eval",
  "fmt",
  "info",
  "install",
  "lint",
  "publish",
  "repl",
  "run",
  "serve",
  "test",
  "watch",
]);

/**
 * The lock file of the packages that only tests and measurements need. `deno task` downloads all of
 * the usual one.
 */
const TESTS_LOCK = join(ROOT, "tests", "deno.lock");

/** The commands that load tests and measurements, whatever their arguments are. */
const LOADS_TESTS = new Set(["bench", "check", "test"]);

/** The folders whose programs may need those packages. */
const TEST_FOLDERS = ["dev", "tests"].map((name) => join(ROOT, name) + sep);

/** A Deno command, and the temporary files to remove after it. */
export interface PreparedCommand extends AsyncDisposable {
  command: Deno.Command;
}

/**
 * Prepares a Deno command with the resolution that fits. The processes that
 * it starts learn of the choice by `WEBFW_OFFLINE` and `WEBFW_CONFIG`.
 */
export async function prepareDeno(
  args: string[],
  options: Deno.CommandOptions = {},
): Promise<PreparedCommand> {
  const env: Record<string, string> = { ...options.env, WEBFW_OFFLINE: "0" };
  const removals = new AsyncDisposableStack();
  let cwd = String(options.cwd ?? Deno.cwd());
  if (await isOffline()) {
    const config = await writeOfflineConfig(ROOT);
    env.WEBFW_OFFLINE = "1";
    env.WEBFW_CONFIG ??= config;
    if (args[0] === "publish" && cwd !== ROOT) {
      // The place of the configuration names the package to publish, so a
      // member needs that of the workspace in its usual place.
      const stage = await stageWorkspace(ROOT);
      removals.defer(() => Deno.remove(stage, { recursive: true }));
      cwd = join(stage, relative(ROOT, cwd));
    } else {
      args = withConfig(args, config);
    }
  } else if (loadsTests(args, cwd)) {
    args = [args[0]!, `--lock=${TESTS_LOCK}`, ...args.slice(1)];
  }
  const command = new Deno.Command(Deno.execPath(), {
    ...options,
    args,
    cwd,
    env,
  });
  return {
    command,
    [Symbol.asyncDispose]: () => removals.disposeAsync(),
  };
}

function withConfig(args: string[], config: string): string[] {
  const [name, ...rest] = args;
  if (name === undefined || namesConfig(rest)) return args;
  if (TAKES_CONFIG.has(name)) return [name, "--config", config, ...rest];
  // `deno doc` looks for the members of a workspace on JSR unless it has an import map.
  if (name === "doc") return [name, "--import-map", config, ...rest];
  return args;
}

/** Whether a configuration is named before the first argument. */
function namesConfig(args: string[]): boolean {
  return optionsOf(args).some((option) => /^(?:-c|--(?:no-)?config|--import-map)(?:=|$)/.test(option));
}

/** Whether a command may load the packages of tests, and names no lock file. */
function loadsTests([name = "", ...args]: string[], cwd: string): boolean {
  if (namesConfig(args) || optionsOf(args).some((option) => /^--(?:no-)?lock(?:=|$)/.test(option))) return false;
  if (LOADS_TESTS.has(name)) return true;
  const file = resolve(cwd, args[optionsOf(args).length] ?? "");
  return name === "run" && TEST_FOLDERS.some((folder) => file.startsWith(folder));
}

/** The options before the first argument. */
function optionsOf(args: string[]): string[] {
  const end = args.findIndex((arg) => !arg.startsWith("-"));
  return end < 0 ? args : args.slice(0, end);
}

async function isOffline(): Promise<boolean> {
  const forced = Deno.env.get("WEBFW_OFFLINE");
  if (forced === "1" || forced === "0") return forced === "1";
  const { imports } = await readRootConfig(ROOT);
  return !await canReachJsr({
    packages: Object.keys(imports).filter((name) => imports[name]?.startsWith("jsr:")),
    registry: Deno.env.get("JSR_URL") ?? "https://jsr.io",
    memory: join(ROOT, ".webfw"),
    remoteCache: await findRemoteCache(),
  });
}

async function findRemoteCache(): Promise<string> {
  const args = ["info", "--json", "--no-config"];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).modulesCache;
}

async function main(): Promise<number> {
  await using prepared = await prepareDeno(Deno.args, {
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  // Listen before the child starts: a signal right after the start would end this process and leave
  // the child. A terminal sends Ctrl-C to the child as well, so this process only has to wait.
  const passOn = (signal: Deno.Signal) => () => child.kill(signal);
  const onInterrupt = Deno.stdin.isTerminal() ? () => {} : passOn("SIGINT");
  Deno.addSignalListener("SIGINT", onInterrupt);
  if (Deno.build.os !== "windows") {
    Deno.addSignalListener("SIGTERM", passOn("SIGTERM"));
  }
  const child = prepared.command.spawn();
  return (await child.status).code;
}

if (import.meta.main) Deno.exit(await main());
