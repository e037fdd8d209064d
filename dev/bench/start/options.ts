// The arguments of `deno task bench start`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readNames, refuseUnknown } from "../command.ts";

/** What is measured, and the limits. */
export interface Options {
  /** Interleaved processes of each contestant. */
  rounds: number;
  /** Names of the contestants; empty means all. */
  contestants: string[];
  /** Flags that Deno is started with. */
  flags: string[];
  /** Whether a figure above its limit decides the exit code. */
  hasLimits: boolean;
  /** Where the samples are written as JSON. */
  json: string | undefined;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Measures the time and CPU time from the start of a process to its first reply, and its memory.

Options:
  --rounds <n>    processes of each program (default 21)
  --only <a,b>    programs; those that they are compared with are always among them
  --cold          without V8's code cache: as on the first start on a machine
  --limit         fail if a program is out of its bounds
  --quick         two rounds
  --json <file>   write the samples
  --help          print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const { only, cold, limit, json, help, ...given } = parseArgs(args, {
    string: ["rounds", "only", "json"],
    boolean: ["cold", "limit", "quick", "help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(given.rounds ?? (given.quick ? "2" : "21")),
    contestants: readNames(only),
    flags: cold ? ["--no-code-cache"] : [],
    hasLimits: limit,
    json,
    help,
  };
}
