// The arguments of measurements that load servers.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readDuration, readNames, refuseUnknown } from "./command.ts";

/** What is measured, and for how long. */
export interface LoadOptions {
  /** Interleaved rounds in which each server is loaded once. */
  rounds: number;
  /** How long a server is loaded in a round, in milliseconds. */
  duration: number;
  /** Keep-alive connections of the load generator. */
  connections: number;
  /** Names of what is measured; empty means all. */
  only: string[];
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** The usage of these arguments, without `--only`. */
export const LOAD_USAGE = `  --rounds <n>           rounds, each loading every server once (default 7)
  --duration <time>      load per server and round, such as 500ms or 2s (default 1s)
  --connections <n>      open connections (default 48)`;

/**
 * Reads the arguments, with further ones that are strings.
 *
 * @throws {UsageError} if a number or a time cannot be read, or an argument is not known
 */
export function readLoadOptions<Name extends string>(
  args: string[],
  further: readonly Name[],
): LoadOptions & Partial<Record<Name, string>> {
  const strings: readonly string[] = ["rounds", "duration", "connections", "only", ...further];
  const { rounds, duration, connections, only, quick, help, ...rest } = parseArgs(args, {
    string: strings,
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  const given = Object.fromEntries(further.map((name) => [name, rest[name]]));
  return {
    ...given as Partial<Record<Name, string>>,
    rounds: readCount(rounds ?? (quick ? "1" : "7")),
    duration: readDuration(duration ?? (quick ? "300ms" : "1s")),
    connections: readCount(connections ?? "48"),
    only: readNames(only),
    help,
  };
}
