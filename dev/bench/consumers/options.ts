// The arguments of `deno task bench consumers`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readNames, refuseUnknown } from "../command.ts";

/** What is measured, and for how long. */
export interface Options {
  /** Interleaved rounds in which each contestant is measured once. */
  rounds: number;
  /** Messages that are published and then handled in a round. */
  messages: number;
  /** Messages in a round at a low rate. */
  single: number;
  /** Names of the contestants; empty means all. */
  contestants: string[];
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Compares consumers whose handler does nothing with queues of BullMQ and NATS JetStream.

Options:
  --rounds <n>      rounds (default 5), in which contestants take turns in random order
  --messages <n>    messages that are published and then handled in a round (default 10000)
  --single <n>      messages in a round at a low rate (default 100)
  --only <a,b>      contestants
  --quick           one round of 500 messages, and of 20
  --help            print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const parsed = parseArgs(args, {
    string: ["rounds", "messages", "single", "only"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(parsed.rounds ?? (parsed.quick ? "1" : "5")),
    messages: readCount(parsed.messages ?? (parsed.quick ? "500" : "10000")),
    single: readCount(parsed.single ?? (parsed.quick ? "20" : "100")),
    contestants: readNames(parsed.only),
    help: parsed.help,
  };
}
