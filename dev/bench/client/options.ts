// The arguments of `deno task bench client`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, refuseUnknown } from "../command.ts";

/** What is measured. */
export interface Options {
  /** Interleaved rounds, each with every contestant once. */
  rounds: number;
  /** Requests of each contestant in a round. */
  requests: number;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Measures the size of the client in pages, and its calls beside those of fetch by hand.

Fails if calls alone have more than 3,000 bytes minified and gzipped, or everything more than 7,000.

Options:
  --rounds <n>      rounds, each with every contestant once (default 9)
  --requests <n>    requests of each contestant in a round (default 5000)
  --quick           one round of 500 requests
  --help            print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const parsed = parseArgs(args, {
    string: ["rounds", "requests"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(parsed.rounds ?? (parsed.quick ? "1" : "9")),
    requests: readCount(parsed.requests ?? (parsed.quick ? "500" : "5000")),
    help: parsed.help,
  };
}
