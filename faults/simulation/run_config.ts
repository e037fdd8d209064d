// What a run is like: how much is published, how nodes and network misbehave, how long the database remembers.

import type { TopicOptions } from "../../mod.ts";
import type { Random } from "../../tests/unit/support/random.ts";
import { mostKept } from "../history.ts";
import type { Payload } from "../node_log.ts";
import type { WorkPlan } from "../workload.ts";

/** How many bytes of data a message has: the name of a publisher, and a number. */
const [MIN_BYTES, MAX_BYTES] = [30, 35];
/** How old messages become, in milliseconds; in a run there is a minute at the end in which nothing happens. */
const AGES = [3_000, 20_000] as const;
/** How far the clock of a node is ahead at most, in milliseconds. */
export const MAX_SKEW = 2_000;

/** What is drawn for a run. */
export interface Draw {
  readonly options: TopicOptions<Payload>;
  readonly work: Omit<WorkPlan, "name" | "life">;
  /** For how long a publisher rests now. */
  readonly pause: () => number;
  /** Of so many publishes one is given up at once, or soon, whatever those do that share its batch. */
  readonly oneInHurry: number;
  /** Of so many times that a reader goes on it does once at a place that the topic has not come to. */
  readonly oneInAhead: number;
  /** How far the clock of a node is ahead, in milliseconds. */
  readonly skew: () => number;
  /** How many other topics there are, which share the bells and whoever trims. */
  readonly others: number;
  /** Whether nodes are killed. */
  readonly kills: boolean;
  /** Whether the database is lost and made anew: empty, or as it was at some time. */
  readonly losses: "none" | "empty" | "set back";
  /** How long nodes are out of reach at most, in milliseconds. */
  readonly outages: readonly number[];
  readonly oneInTrouble: number;
  readonly maxLate: number;
  readonly maxDelay: number;
}

/**
 * Draws a run. In some the database forgets what it remembers of messages after two minutes, and publishers rest for longer: whoever
 * publishes again, here or on another node, must come before, and nothing that is on the way may be carried out after. In the others
 * that lasts for all of the run. Where the database is lost, nobody publishes once more what was acknowledged before.
 */
export function draw(random: Random): Draw {
  const isForgetful = random.oneIn(3);
  const isCrowded = random.oneIn(4);
  const isTrimmed = !isCrowded && random.oneIn(4);
  const isAged = !isCrowded && !isTrimmed && random.oneIn(4);
  // Each message is a write then, and whoever trims does not know the size of each.
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
      // Of a log that is trimmed it is known how large its writes are.
      atOnce: isTrimmed ? 1 : random.pick(isCrowded ? [1, 3, 3, 5] : [1, 3, 10, 10]),
      patience: random.pick([500, 2_000, 5_000]),
      readers: 2,
      rest: random.pick([0, 2, 20]),
    },
    pause: () => isForgetful && random.oneIn(100) ? random.below(200_000) : random.below(pause),
    oneInHurry: random.pick([Infinity, 50, 5]),
    // Where a database is set back, those who have read what was lost are at such places by themselves.
    oneInAhead: losses === "set back" ? Infinity : random.pick([Infinity, 10, 2]),
    skew: () => random.below(MAX_SKEW),
    // Where a database is set back, what they write would make up for what was lost before anybody looks.
    others: losses === "set back" ? 0 : random.pick([0, 0, 1, 20]),
    kills: !isForgetful && losses === "none" && random.oneIn(2),
    losses,
    outages: isForgetful ? [200, 3_000] : [200, 5_000, 20_000],
    oneInTrouble: random.pick(isForgetful ? [Infinity, 200, 50] : [Infinity, 50, 10, 4]),
    maxLate: isForgetful ? 30_000 : 600_000,
    maxDelay: random.pick([1, 5, 20]),
  };
}

/** How many messages the topic of a run keeps at least, whatever their age; and at most, where that is told by their number or bytes. */
export function keptBy({ options: { retention = {} }, work: { publishers } }: Draw): { keeps: number; most: number } {
  const { age, bytes, count = bytes === undefined ? Infinity : Math.floor(bytes / MAX_BYTES) } = retention;
  const most = mostKept(count, publishers);
  // Of bytes rather too few are kept than too many.
  if (bytes !== undefined) return { keeps: 2 * count - most, most: Math.floor(bytes / MIN_BYTES) };
  return { keeps: age === undefined ? count : 0, most };
}

/** Keeps some messages: by their number, or by their bytes. */
function boundOf(messages: number, random: Random): { readonly count: number } | { readonly bytes: number } {
  return random.oneIn(2) ? { count: messages } : { bytes: messages * MAX_BYTES };
}
