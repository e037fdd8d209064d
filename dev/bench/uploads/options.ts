// The arguments of `deno task bench uploads`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, refuseUnknown } from "../command.ts";

/** What is measured. */
export interface Options {
  /** The size of the file that is uploaded, in MiB. */
  size: number;
  /** How many MiB the memory of the server may grow. */
  growth: number;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Measures the memory that uploads take, and how much is taken of those that are refused.

Options:
  --size <n>     MiB of the file that is uploaded (default 1024)
  --growth <n>   MiB that the memory of the server may grow, else the run fails (default 256;
                 a bare loop over a body of 1 GiB takes up to 110 until garbage is collected)
  --help         print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const parsed = parseArgs(args, { string: ["size", "growth"], boolean: ["help"], unknown: refuseUnknown });
  return { size: readCount(parsed.size ?? "1024"), growth: readCount(parsed.growth ?? "256"), help: parsed.help };
}
