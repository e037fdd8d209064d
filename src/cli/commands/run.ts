// The command that serves an application.

import { servingProgram } from "../boot.ts";
import type { Command } from "../command.ts";
import { CommandError, USAGE_EXIT_CODE } from "../command_error.ts";
import { CONFIG, runOnTarget, TARGET, TARGET_DETAILS } from "./target_command.ts";

const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_PORT = "8000";

/** `webfw run`. */
export const RUN: Command = {
  name: "run",
  summary: "Serve an application",
  operand: TARGET,
  options: [
    { name: "reload", description: "Start anew when a file of the program changes" },
    { name: "host", value: "host", description: `Address to listen on (default: ${DEFAULT_HOST})` },
    { name: "port", value: "port", description: `Port to listen on, 0 for any free one (default: ${DEFAULT_PORT})` },
    CONFIG,
  ],
  takesDenoFlags: true,
  details: TARGET_DETAILS,
  run(invocation) {
    const { switches, values, denoFlags } = invocation;
    const hostname = values.get("host") ?? DEFAULT_HOST;
    const port = parsePort(values.get("port") ?? DEFAULT_PORT);
    return runOnTarget(invocation, {
      isWatched: switches.has("reload") || denoFlags.some((flag) => /^--watch(=|$)/.test(flag)),
      program: (specifier, plan) => servingProgram(specifier, { ...plan, hostname, port }),
    });
  },
};

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new CommandError(`Cannot use port "${text}": expected a whole number from 0 to 65535`, USAGE_EXIT_CODE);
}
