// The arguments of `deno task bench sse`.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, refuseUnknown } from "../command.ts";

/** What is measured. */
export interface Options {
  /** How often each contestant is started for its speed. */
  processes: number;
  /** Rounds with these processes, each contestant once in each. */
  rounds: number;
  /** Events that are published in a round. */
  events: number;
  /** Clients that each event goes to. */
  subscribers: number;
  /** The number of idle clients. */
  idle: number;
  /** Events that go to a client that does not read. */
  stalled: number;
  /** Whether only the usage is asked for. */
  help: boolean;
}

/** Printed for `--help`. */
export const USAGE = `Compares events of a topic with a loop that enqueues each event to each stream.

Options:
  --processes <n>     times that each server is started for its speed (default 5)
  --rounds <n>        rounds with these processes, each contestant once (default 16)
  --events <n>        events that are published in a round (default 48)
  --subscribers <n>   clients that each of them goes to (default 1000)
  --idle <n>          clients whose memory is measured (default 10000)
  --stalled <n>       events for a client that does not read (default 100000)
  --quick             one process, two rounds, 100 clients, 10000 events for the one that does not read
  --help              print this text`;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} if a number cannot be read, or an argument is not known
 */
export function readOptions(args: string[]): Options {
  const { help, quick, ...given } = parseArgs(args, {
    string: ["processes", "rounds", "events", "subscribers", "idle", "stalled"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  return {
    processes: readCount(given.processes ?? (quick ? "1" : "5")),
    rounds: readCount(given.rounds ?? (quick ? "2" : "16")),
    events: readCount(given.events ?? "48"),
    subscribers: readCount(given.subscribers ?? (quick ? "100" : "1000")),
    idle: readCount(given.idle ?? (quick ? "100" : "10000")),
    stalled: readCount(given.stalled ?? (quick ? "10000" : "100000")),
    help,
  };
}
