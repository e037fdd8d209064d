// The arguments of `deno task bench:sse`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, refuseUnknown } from "../command.ts";

/** What a run measures. */
export interface Options {
  /** Interleaved rounds, each with every contestant once. */
  rounds: number;
  /** Events that are published in a round. */
  events: number;
  /** Clients that each event goes to. */
  subscribers: number;
  /** Clients whose memory is measured. */
  idle: number;
  /** Events that go to a client that does not read. */
  stalled: number;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Compares events of a topic with a loop that enqueues each event to each stream.

Options:
  --rounds <n>        rounds, each with every contestant once (default 7)
  --events <n>        events that are published in a round (default 320)
  --subscribers <n>   clients that each of them goes to (default 1000)
  --idle <n>          clients whose memory is measured (default 10000)
  --stalled <n>       events for a client that does not read (default 100000)
  --quick             one round, 100 clients, 10000 events for the one that does not read
  --help              print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const { help, quick, ...given } = parseArgs(args, {
    string: ["rounds", "events", "subscribers", "idle", "stalled"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  return {
    rounds: readCount(given.rounds ?? (quick ? "1" : "7")),
    events: readCount(given.events ?? "320"),
    subscribers: readCount(given.subscribers ?? (quick ? "100" : "1000")),
    idle: readCount(given.idle ?? (quick ? "100" : "10000")),
    stalled: readCount(given.stalled ?? (quick ? "10000" : "100000")),
    help,
  };
}
