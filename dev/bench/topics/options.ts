// The arguments of `deno task bench topics`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readNames, refuseUnknown } from "../command.ts";

/** What is measured. */
export interface Options {
  /** Interleaved rounds, each with every contestant once. */
  rounds: number;
  /** Messages that are published in a round. Above what a topic keeps, slow readers get gaps. */
  messages: number;
  /** Readers of each message where messages are fanned out. */
  readers: number;
  /** Names of the workloads; empty means all. */
  workloads: string[];
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Compares topics in memory with a loop written by hand, without HTTP.

Options:
  --rounds <n>      rounds, each with every contestant once (default 7)
  --messages <n>    messages a round where they are fanned out; 20 times as many where they
                    are only published (default 1000, which a topic keeps)
  --readers <n>     readers of each message (default 1000)
  --only <a,b>      workloads
  --quick           one round of 100 messages
  --help            print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const parsed = parseArgs(args, {
    string: ["rounds", "messages", "readers", "only"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(parsed.rounds ?? (parsed.quick ? "1" : "7")),
    messages: readCount(parsed.messages ?? (parsed.quick ? "100" : "1000")),
    readers: readCount(parsed.readers ?? "1000"),
    workloads: readNames(parsed.only),
    help: parsed.help,
  };
}
