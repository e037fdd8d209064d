// Runs any Deno command with the resolution that fits this machine: `@std/*` from JSR, or from npm through the
// stand-ins in offline/ where JSR cannot be reached. `WEBFW_OFFLINE` (1 or 0) decides in place of a look.
// Imports no package, because it has to run before anything resolves.

import { join, relative } from "node:path";
import { canReachJsr } from "./jsr_reach.ts";
import { readRootConfig, writeOfflineConfig } from "./offline_config.ts";
import { stageWorkspace } from "./staged_workspace.ts";

const ROOT = join(import.meta.dirname!, "..");

/** The commands that resolve modules by the file given with `--config`. */
const TAKES_CONFIG = new Set(
  [
    "bench",
    "bundle",
    "cache",
    "check",
    "compile",
    "info",
    "install",
    "lint",
    "repl",
    "run",
    "serve",
    "test",
  ],
);

/** A prepared Deno command. */
interface Invocation {
  args: string[];
  cwd: string;
  env: Record<string, string>;
}

/** A `deno` command with the resolution that fits, for tools and tests that start one. */
export async function denoCommand(
  args: string[],
  options: Deno.CommandOptions = {},
): Promise<Deno.Command> {
  const { args: fitted, cwd, env } = await fit(
    args,
    String(options.cwd ?? Deno.cwd()),
  );
  return new Deno.Command(Deno.execPath(), {
    ...options,
    args: fitted,
    cwd,
    env: { ...env, ...options.env },
  });
}

async function fit(args: string[], cwd: string): Promise<Invocation> {
  if (!await isOffline()) return { args, cwd, env: { WEBFW_OFFLINE: "0" } };
  const config = await writeOfflineConfig(ROOT);
  const env = { WEBFW_OFFLINE: "1", WEBFW_CONFIG: config };
  const [command = "", ...rest] = args;
  if (TAKES_CONFIG.has(command)) {
    return { args: [command, "--config", config, ...rest], cwd, env };
  }
  // `deno doc` looks up the members of a workspace on JSR; an import map keeps it from that.
  if (command === "doc") {
    return { args: [command, "--import-map", config, ...rest], cwd, env };
  }
  if (command === "publish") {
    // `deno publish` picks the package by the place of its configuration, so a member needs one in its usual place.
    if (cwd === ROOT) {
      return { args: [command, "--config", config, ...rest], cwd, env };
    }
    return {
      args,
      cwd: join(await stageWorkspace(ROOT), relative(ROOT, cwd)),
      env,
    };
  }
  return { args, cwd, env };
}

async function isOffline(): Promise<boolean> {
  const forced = Deno.env.get("WEBFW_OFFLINE");
  if (forced === "1" || forced === "0") return forced === "1";
  const { imports } = await readRootConfig(ROOT);
  return !await canReachJsr({
    packages: Object.keys(imports).filter((name) =>
      imports[name]?.startsWith("jsr:")
    ),
    registry: Deno.env.get("JSR_URL") ?? "https://jsr.io",
    memory: join(ROOT, ".webfw", "jsr_unreachable"),
    remoteCache,
  });
}

async function remoteCache(): Promise<string> {
  const info = new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-config"],
  });
  const { stdout } = await info.output();
  return JSON.parse(new TextDecoder().decode(stdout)).modulesCache;
}

async function main(): Promise<number> {
  const child = (await denoCommand(Deno.args, {
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  })).spawn();
  // A terminal sends Ctrl-C to the child as well; this process only has to outlive it.
  const passOn = (signal: Deno.Signal) => () => child.kill(signal);
  Deno.addSignalListener(
    "SIGINT",
    Deno.stdin.isTerminal() ? () => {} : passOn("SIGINT"),
  );
  if (Deno.build.os !== "windows") {
    Deno.addSignalListener("SIGTERM", passOn("SIGTERM"));
  }
  return (await child.status).code;
}

if (import.meta.main) Deno.exit(await main());
