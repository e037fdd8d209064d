// The costs of a feature: the CPU time of each server, and the ratios between them.

import { note } from "../figure.ts";
import type { Contestant, Sample } from "../http/measurement.ts";
import { median, ratios, type Spread } from "../http/statistics.ts";
import type { Feature } from "./features.ts";

const BY_HAND = "by hand";
const BY_HAND_WITH = "by hand, with it";
const WEBFW = "webfw";
const WEBFW_WITH = "webfw, with it";

/** The servers of a feature, each of which has a name in the report. */
export const SERVERS: { name: string; program: string; isWith: boolean }[] = [
  { name: BY_HAND, program: "deno.ts", isWith: false },
  { name: BY_HAND_WITH, program: "deno.ts", isWith: true },
  { name: WEBFW, program: "webfw.ts", isWith: false },
  { name: WEBFW_WITH, program: "webfw.ts", isWith: true },
];

/** What is compared: the time of the first divided by that of the second. */
const COMPARISONS: [string, string][] = [
  [BY_HAND_WITH, BY_HAND],
  [WEBFW_WITH, WEBFW],
  [WEBFW, BY_HAND],
  [WEBFW_WITH, BY_HAND_WITH],
];

/** The text for one measured feature. */
export function report({ name, title }: Feature, contestants: Contestant[]): string {
  const times = timesOf(contestants);
  if (!times) return [`${name}: ${title}`, ...faultsOf(contestants)].join("\n") + "\n";
  const pad = Math.max(...SERVERS.map(({ name }) => name.length));
  return [
    `${name}: ${title}`,
    ...SERVERS.map(({ name }) => `  ${name.padEnd(pad)}  ${median(times[name]!).toFixed(2).padStart(7)} us`),
    ...COMPARISONS.map(([one, other]) => `  ${one} / ${other}: ${spread(ratios(times[one]!, times[other]!))}`),
    `  what it adds in webfw / what it adds by hand: ${spread(shareOf(times))}`,
  ].join("\n") + "\n";
}

/** Notes the costs for the table of all measurements. */
export function noteCosts({ title }: Feature, contestants: Contestant[]): void {
  const times = timesOf(contestants);
  if (!times) return;
  for (const [contestant, reference] of COMPARISONS.toSpliced(2, 1)) {
    const [own, other] = [times[contestant]!, times[reference]!];
    const [value, ratio] = [median(own), ratios(own, other)];
    note({ measure: title, contestant, reference, value, unit: "us", ratio, rounds: own.length });
  }
}

/** The times per request of each server, in microseconds; undefined if one was left out. */
function timesOf(contestants: Contestant[]): Record<string, number[]> | undefined {
  if (contestants.some(({ samples }) => samples.length === 0)) return undefined;
  return Object.fromEntries(contestants.map(({ server, samples }) => [server, samples.map(timeOf)]));
}

/** Where the system reports no CPU time, the time between two replies. */
function timeOf({ cpu, rate }: Sample): number {
  return cpu ?? 1e6 / rate;
}

/** The cost in webfw, as a ratio, divided by that by hand. */
function shareOf(times: Record<string, number[]>): Spread {
  const costs = (one: string, other: string) => times[one]!.map((time, round) => time / times[other]![round]!);
  return ratios(costs(WEBFW_WITH, WEBFW), costs(BY_HAND_WITH, BY_HAND));
}

function faultsOf(contestants: Contestant[]): string[] {
  return contestants.flatMap(({ server, faults }) =>
    faults.length > 0 ? [`  ${server} left out: ${faults.join("; ")}`] : []
  );
}

function spread({ median, min, max }: Spread): string {
  return `${median.toFixed(3)} (${min.toFixed(2)}-${max.toFixed(2)})`;
}
