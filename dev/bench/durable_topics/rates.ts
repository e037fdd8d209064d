// How many messages a second publishers get through, in short turns that alternate.

import { note } from "../figure.ts";
import { median, ratios } from "../http/statistics.ts";

/**
 * The messages of one publisher in one turn. Turns are short, so that a slow phase of the machine
 * affects all contestants.
 */
const TURN = 20;

/** A publisher that is measured. */
export interface Contestant {
  readonly name: string;
  readonly publishers: number;
  publish(): Promise<unknown>;
}

/** What is compared. */
export interface Comparison {
  /** What the table calls it. */
  readonly measure: string;
  /** The name of the contestant to which the others are compared. */
  readonly reference: string;
  readonly contestants: readonly Contestant[];
  readonly rounds: number;
  /** Messages of a publisher in a round. */
  readonly messages: number;
}

/** Measures all contestants in turns, and prints the rates and ratios. */
export async function compareRates(comparison: Comparison, signal: AbortSignal): Promise<void> {
  const { measure, reference, contestants, rounds, messages } = comparison;
  const rates = await measureRates(contestants, rounds, messages, signal);
  const baseline = rates.get(reference)!;
  for (const [contestant, values] of rates) {
    const [value, ratio] = [median(values), ratios(values, baseline)];
    note({ measure, contestant, reference, value, unit: "messages/s", ratio, rounds });
    const rate = Math.round(value).toLocaleString("en").padStart(9);
    console.log(`${contestant.padEnd(46)}${rate} a second  ${ratio.median.toFixed(2)}`);
  }
  console.log();
}

/** Whether it publishes one message after another. */
export function isSingle({ publishers }: Contestant): boolean {
  return publishers === 1;
}

async function measureRates(
  all: readonly Contestant[],
  rounds: number,
  messages: number,
  signal: AbortSignal,
): Promise<Map<string, number[]>> {
  const rates = new Map<string, number[]>(all.map(({ name }) => [name, []]));
  // The first round warms up and does not count.
  for (let round = 0; round <= rounds; round++) {
    const times = new Map<string, number>();
    for (const { contestant, count } of shuffled(all.flatMap((contestant) => turnsOf(contestant, messages)))) {
      signal.throwIfAborted();
      const time = await timeOf(contestant, count);
      times.set(contestant.name, (times.get(contestant.name) ?? 0) + time);
    }
    if (round === 0) continue;
    for (const contestant of all) {
      rates.get(contestant.name)!.push(countOf(contestant, messages) / times.get(contestant.name)! * 1000);
    }
  }
  return rates;
}

/** How many messages it publishes in a round. */
function countOf(contestant: Contestant, messages: number): number {
  return isSingle(contestant) ? messages : messages * 16;
}

/** The turns of a round: several for one publisher, one for many. */
function turnsOf(contestant: Contestant, messages: number): { contestant: Contestant; count: number }[] {
  const count = countOf(contestant, messages);
  if (!isSingle(contestant)) return [{ contestant, count }];
  const turns = Math.ceil(count / TURN);
  return Array.from(
    { length: turns },
    (_, turn) => ({ contestant, count: turn < turns - 1 ? TURN : count - turn * TURN }),
  );
}

/** The time to publish this many messages, in milliseconds. */
async function timeOf({ publishers, publish }: Contestant, count: number): Promise<number> {
  let begun = 0;
  const begin = performance.now();
  await Promise.all(Array.from({ length: publishers }, async () => {
    while (begun++ < count) await publish();
  }));
  return performance.now() - begin;
}

/** The same in random order. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, place: Math.random() }));
  return drawn.sort((a, b) => a.place - b.place).map(({ item }) => item);
}
