// The arguments of `deno task bench`.

import { parseArgs } from "@std/cli/parse-args";
import { readNames, refuseUnknown } from "../command.ts";
import { BENCHES } from "./benches.ts";

/** What is measured. */
export interface Options {
  /** Names of the measurements; empty means all. */
  benches: string[];
  /** Whether to run the shortest forms, whose figures mean nothing. */
  isQuick: boolean;
  /** Where the figures are written as JSON. */
  json: string | undefined;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE =
  `Runs all measurements in short forms, and prints one table. A name first runs one of them in its usual form,
with options of its own: ${BENCHES.map(({ name }) => name).join(", ")}.

Options:
  --only <a,b>    measurements
  --quick         each in its quickest form: whether they run, not what they find
  --json <file>   write the figures
  --help          print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if an argument is not known
 */
export function readOptions(args: string[]): Options {
  const { only, quick, json, help } = parseArgs(args, {
    string: ["only", "json"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  return { benches: readNames(only), isQuick: quick, json, help };
}
