/** Serves an application. */

import { type Command, CommandError, USAGE_EXIT_CODE } from "../command.ts";
import { CONFIG, runOnTarget, TARGET, TARGET_DETAILS } from "../launch.ts";
import { ServeRunner } from "../runner/serve.ts";

const MAX_WORKERS = 1024;
/** For listeners that share a port. */
const SHARED_PORT_FLAG = "--unstable-net";

export const RUN: Command = {
  name: "run",
  summary: "Serve an application",
  operand: TARGET,
  options: [
    { name: "reload", description: "Restart when a file of the program changes" },
    { name: "host", value: "host", description: "Address to listen on (default: WEBFW_HOST, else 127.0.0.1)" },
    {
      name: "port",
      letter: "p",
      value: "port",
      description: "Port to listen on, 0 for any free one (default: PORT, else 8000)",
    },
    {
      name: "workers",
      value: "number",
      description: "Threads that serve, each with its own application (default: 1)",
    },
    { name: "compress", description: "Compress replies for clients that accept it" },
    {
      name: "drain-delay",
      value: "duration",
      description: "Time to keep serving after SIGTERM, such as 5s (default: 0s)",
    },
    { name: "check", description: "Check types first" },
    { name: "no-board", description: "With --reload: serve no board at /_board" },
    { name: "quiet", letter: "q", description: "Print no access log" },
    CONFIG,
  ],
  takesDenoFlags: true,
  details: TARGET_DETAILS,
  examples: [
    "webfw run . --reload --check",
    "webfw run main.ts:app --host 0.0.0.0 -p 80",
    "webfw run -P main.ts:app",
    "webfw run --allow-net --allow-read=data main.ts:app",
    "webfw run main.ts:app -- --env-file",
  ],
  run(invocation) {
    const { switches, values, denoFlags } = invocation;
    const hostname = values.get("host") ?? null;
    const portText = values.get("port");
    const port = portText === undefined ? null : parseWhole(portText, `port "${portText}"`, 0, 65_535);
    const workersText = values.get("workers") ?? "1";
    const workers = parseWhole(workersText, `"${workersText}" workers`, 1, MAX_WORKERS);
    const drainDelay = parseDelay(values.get("drain-delay") ?? "0s");
    const isWatched = switches.has("reload") || denoFlags.some((flag) => /^--watch(=|$)/.test(flag));
    if (isWatched && drainDelay > 0) {
      throw new CommandError("Cannot use --drain-delay: a program that is watched stops at once", USAGE_EXIT_CODE);
    }
    if (isWatched && workers > 1) {
      throw new CommandError("Cannot use --workers: a program that is watched has one thread", USAGE_EXIT_CODE);
    }
    return runOnTarget(invocation, {
      runner: ServeRunner,
      options: {
        hostname,
        port,
        workers,
        isQuiet: switches.has("quiet"),
        compress: switches.has("compress"),
        drainDelay,
        showsBoard: isWatched && !switches.has("no-board"),
      },
      isWatched,
      isChecked: switches.has("check"),
      flags: workers > 1 ? [SHARED_PORT_FLAG] : [],
      drainDelay,
    });
  },
};

function parseDelay(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text) ?? [];
  if (number !== undefined) return Number(number) * (unit === "m" ? 60_000 : unit === "s" ? 1_000 : 1);
  throw new CommandError(`Cannot use "${text}" as a delay: expected a time such as 5s or 500ms`, USAGE_EXIT_CODE);
}

function parseWhole(text: string, named: string, least: number, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new CommandError(`Cannot use ${named}: expected a whole number from ${least} to ${most}`, USAGE_EXIT_CODE);
}
