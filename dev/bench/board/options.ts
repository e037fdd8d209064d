// The arguments of `deno task bench board`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readDuration, readNames, refuseUnknown } from "../command.ts";

/** What is measured, and for how long. */
export interface Options {
  /** Interleaved rounds in which each server is loaded once. */
  rounds: number;
  /** How long a server is loaded in a round, in milliseconds. */
  duration: number;
  /** Keep-alive connections of the load generator. */
  connections: number;
  /** Names of the workloads; empty means all. */
  workloads: string[];
  /** The greatest allowed ratio; a greater median is a failure. */
  limit: number | undefined;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Measures what a request costs where the application shows its board, and without.

Options:
  --rounds <n>           rounds, each loading every server once (default 7)
  --duration <time>      load per server and round, such as 500ms or 2s (default 1s)
  --connections <n>      open connections (default 48)
  --only <a,b>           workloads
  --limit <ratio>        fail if the median of a ratio is greater
  --quick                check every server, one round of 300ms
  --help                 print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number or a time cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const parsed = parseArgs(args, {
    string: ["rounds", "duration", "connections", "only", "limit"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(parsed.rounds ?? (parsed.quick ? "1" : "7")),
    duration: readDuration(parsed.duration ?? (parsed.quick ? "300ms" : "1s")),
    connections: readCount(parsed.connections ?? "48"),
    workloads: readNames(parsed.only),
    limit: parsed.limit === undefined ? undefined : Number(parsed.limit),
    help: parsed.help,
  };
}
