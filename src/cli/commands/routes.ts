// The command that lists the routes of an application.

import { listingProgram } from "../boot.ts";
import type { Command } from "../command.ts";
import { CONFIG, runOnTarget, TARGET, TARGET_DETAILS } from "./target_command.ts";

/** `webfw routes`. */
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
  run: (invocation) => runOnTarget(invocation, { isWatched: false, program: listingProgram }),
};
