// The configuration of a run, drawn at random: the workload, and how nodes, network and database
// misbehave.

import type { TopicOptions } from "../../../src/types/mod.ts";
import type { Random } from "../../../tests/unit/support/random.ts";
import { mostKept } from "../history.ts";
import type { Payload } from "../node_log.ts";
import type { WorkloadPlan } from "../workload.ts";

/** How many bytes of data a message has: the name of a publisher, and a number. */
const [MIN_BYTES, MAX_BYTES] = [30, 35];
/**
 * How old messages become, in milliseconds. They expire in the minute of silence that ends a run.
 */
const AGES = [3_000, 20_000] as const;
/** The largest clock skew of a node, in milliseconds. */
export const MAX_SKEW = 2_000;

/** The configuration of a run. */
export interface RunConfig {
  readonly options: TopicOptions<Payload>;
  readonly work: Omit<WorkloadPlan, "name" | "generation">;
  /** Draws how long a publisher rests, in milliseconds. */
  readonly pause: () => number;
  /** One in this many publishes is aborted at once or soon, whatever the others of its batch do. */
  readonly oneInHurry: number;
  /** One in this many times, a reader continues at a position ahead of the topic. */
  readonly oneInAhead: number;
  /** Draws the clock skew of a node, in milliseconds. */
  readonly skew: () => number;
  /** How many other topics share the notifications and the retention worker. */
  readonly others: number;
  /** Whether nodes are killed. */
  readonly kills: boolean;
  /** Whether the database is lost, and is then empty or restored from an older backup. */
  readonly losses: "none" | "empty" | "set back";
  /** How long nodes are disconnected at most, in milliseconds. */
  readonly outages: readonly number[];
  readonly oneInTrouble: number;
  readonly maxLate: number;
  readonly maxDelay: number;
}

/**
 * Draws a configuration. In some runs, dedup entries expire after two minutes, and publishers then
 * pause for longer: nothing is republished after that time, and no late request arrives after it.
 * In other runs, the entries last for the whole run. If the database is lost, messages that were
 * acknowledged before are not republished.
 */
export function drawConfig(random: Random): RunConfig {
  const isForgetful = random.oneIn(3);
  const isCrowded = random.oneIn(4);
  const isTrimmed = !isCrowded && random.oneIn(4);
  const isAged = !isCrowded && !isTrimmed && random.oneIn(4);
  // Each message is a write then, and the retention index joins records.
  const isLarge = isTrimmed && random.oneIn(4);
  const losses = isAged || !random.oneIn(4) ? "none" : isTrimmed || random.oneIn(2) ? "empty" : "set back";
  const pause = random.pick(isCrowded ? [1, 1, 2, 50] : [1, 2, 50]);
  return {
    options: {
      durable: true,
      dedupe: isForgetful ? random.pick(["1s", "2m"]) : "12h",
      ...isTrimmed && { retention: boundOf(isLarge ? 700 : 50, random) },
      ...isAged && { retention: { age: random.pick(AGES) } },
      ...random.oneIn(3) && { buffer: 2 },
    },
    work: {
      publishers: isCrowded ? 40 : isLarge ? 1 : 1 + random.below(6),
      messages: isCrowded ? 12 : isLarge ? 800 : 40 + random.below(isTrimmed ? 200 : 40),
      isShared: !isForgetful && losses === "none" && !random.oneIn(isCrowded ? 4 : 2),
      // The largest size of a trimmed log is known only if its writes are small.
      atOnce: isTrimmed ? 1 : random.pick(isCrowded ? [1, 3, 3, 5] : [1, 3, 10, 10]),
      patience: random.pick([500, 2_000, 5_000]),
      readers: 2,
      rest: random.pick([0, 2, 20]),
    },
    pause: () => isForgetful && random.oneIn(100) ? random.below(200_000) : random.below(pause),
    oneInHurry: random.pick([Infinity, 50, 5]),
    // After a set-back, readers of lost messages are ahead anyway.
    oneInAhead: losses === "set back" ? Infinity : random.pick([Infinity, 10, 2]),
    skew: () => random.below(MAX_SKEW),
    // Writes to other topics would hide a set-back before anybody notices it.
    others: losses === "set back" ? 0 : random.pick([0, 0, 1, 20]),
    kills: !isForgetful && losses === "none" && random.oneIn(2),
    losses,
    outages: isForgetful ? [200, 3_000] : [200, 5_000, 20_000],
    oneInTrouble: random.pick(isForgetful ? [Infinity, 200, 50] : [Infinity, 50, 10, 4]),
    maxLate: isForgetful ? 30_000 : 600_000,
    maxDelay: random.pick([1, 5, 20]),
  };
}

/**
 * How many messages the topic keeps at least, and at most if its retention has a count or bytes.
 */
export function keptBy(
  { options: { retention = {} }, work: { publishers } }: RunConfig,
): { keeps: number; most: number } {
  const { age, bytes, count = bytes === undefined ? Infinity : Math.floor(bytes / MAX_BYTES) } = retention;
  const most = mostKept(count, publishers);
  // Retention keeps rather fewer bytes than too many.
  if (bytes !== undefined) return { keeps: 2 * count - most, most: Math.floor(bytes / MIN_BYTES) };
  return { keeps: age === undefined ? count : 0, most };
}

/** A retention of this many messages, by count or by bytes. */
function boundOf(messages: number, random: Random): { readonly count: number } | { readonly bytes: number } {
  return random.oneIn(2) ? { count: messages } : { bytes: messages * MAX_BYTES };
}
