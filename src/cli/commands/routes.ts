/** The command that lists the routes of an application. */

import type { Command } from "../command.ts";
import { CONFIG, runOnTarget, TARGET, TARGET_DETAILS } from "../launch.ts";
import { RoutesRunner } from "../runner/inspect.ts";

export const ROUTES: Command = {
  name: "routes",
  summary: "List the routes of an application, without serving it",
  operand: TARGET,
  options: [CONFIG],
  takesDenoFlags: true,
  details: TARGET_DETAILS,
  examples: [
    "webfw routes main.ts:app",
    "webfw routes main.ts:app -- --env-file",
  ],
  run: (invocation) => runOnTarget(invocation, { runner: RoutesRunner, options: {} }),
};
