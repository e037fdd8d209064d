// The arguments of `deno task bench types`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readNames, refuseUnknown } from "../command.ts";

/** What is measured, and the limit. */
export interface Options {
  /** Checks of each application, of which the fastest counts. */
  rounds: number;
  /** Names of the frameworks; empty means all. */
  frameworks: string[];
  /** The most instantiations that a route of webfw may cost; undefined without a limit. */
  limit: number | undefined;
  /** Whether the time of an editor's completion is measured. */
  completion: boolean;
  /** Where the figures are written as JSON. */
  json: string | undefined;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Measures what a route costs the type checker, on webfw and on other frameworks.

Options:
  --rounds <n>    checks of each application, of which the fastest counts (default 1)
  --only <a,b>    frameworks
  --limit <n>     fail if a route of webfw costs more instantiations, or 800 routes
                  cost more than 2.1 times 400, or if a typed client of webfw costs more
                  than 300 for each of 400 routes, or more than 1,000 for a further call
  --completion    also measure how long an editor takes to offer the paths of a client
  --json <file>   write the figures
  --help          print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const parsed = parseArgs(args, {
    string: ["rounds", "only", "limit", "json"],
    boolean: ["completion", "help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(parsed.rounds ?? "1"),
    frameworks: readNames(parsed.only),
    limit: parsed.limit === undefined ? undefined : readCount(parsed.limit),
    completion: parsed.completion,
    json: parsed.json,
    help: parsed.help,
  };
}
