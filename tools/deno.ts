// Runs any Deno command with the resolution that fits this machine: `@std/*`
// from JSR, or from npm through the stand-ins in offline/ where JSR cannot be
// reached. `WEBFW_OFFLINE` (1 or 0) decides in place of a look. Imports no
// package, because it runs before anything resolves.

import { join, relative } from "node:path";
import { canReachJsr } from "./jsr_reach.ts";
import { readRootConfig, writeOfflineConfig } from "./offline_config.ts";
import { stageWorkspace } from "./staged_workspace.ts";

const ROOT = join(import.meta.dirname!, "..");

/** The commands that resolve modules by the file given with `--config`. */
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

/** A Deno command, and what has to be removed once it has ended. */
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
  // It looks for the members of a workspace on JSR, an import map aside.
  if (name === "doc") return [name, "--import-map", config, ...rest];
  return args;
}

/** Whether a configuration is named before the first argument. */
function namesConfig(args: string[]): boolean {
  const end = args.findIndex((arg) => !arg.startsWith("-"));
  const options = end < 0 ? args : args.slice(0, end);
  return options.some((option) => /^(?:-c|--(?:no-)?config|--import-map)(?:=|$)/.test(option));
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
  // Listened for before there is a child: a signal right after its start would end this process, and leave the child.
  // A terminal sends Ctrl-C to the child as well: this process only has to outlive it.
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
