// The arguments of `deno task bench document`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readNames, refuseUnknown } from "../command.ts";

/** What is measured, and the limit. */
export interface Options {
  /** Processes for each application. */
  rounds: number;
  /** Routes of each application. */
  routes: number;
  /** Names of the applications; empty means all. */
  applications: string[];
  /** The greatest allowed ratio of making the document to writing it; undefined without a limit. */
  limit: number | undefined;
  /** Where the figures are written as JSON. */
  json: string | undefined;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Measures what the OpenAPI document of an application costs, beside writing it as JSON.

Options:
  --rounds <n>    processes for each application (default 7)
  --routes <n>    routes of each application (default 1000)
  --only <a,b>    applications
  --limit <n>     fail if the median of a document is more than so often that of writing it
  --json <file>   write the figures
  --help          print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const parsed = parseArgs(args, {
    string: ["rounds", "routes", "only", "limit", "json"],
    boolean: ["help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(parsed.rounds ?? "7"),
    routes: readCount(parsed.routes ?? "1000"),
    applications: readNames(parsed.only),
    limit: parsed.limit === undefined ? undefined : readCount(parsed.limit),
    json: parsed.json,
    help: parsed.help,
  };
}
