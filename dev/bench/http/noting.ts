// Writes the figures of a workload to the table of all measurements: replies per second, compared
// with the handler by hand.

import { note } from "../figure.ts";
import { compare } from "./comparison.ts";
import type { Contestant } from "./measurement.ts";
import { BASELINE } from "./servers.ts";
import type { Workload } from "./workloads.ts";

/** Notes how each server did. */
export function noteComparisons({ title, fillerRoutes }: Workload, contestants: Contestant[]): void {
  for (const count of fillerRoutes) {
    const group = contestants.filter((each) => each.fillerRoutes === count && each.samples.length > 0);
    const baseline = group.find(({ server }) => server === BASELINE);
    if (!baseline) continue;
    for (const each of group) {
      const { server, rate, throughput, rounds } = compare(each, baseline);
      note({
        measure: fillerRoutes.length > 1 ? `${title}, ${count} other routes` : title,
        contestant: server,
        reference: BASELINE,
        value: rate,
        unit: "replies/s",
        ratio: throughput,
        rounds,
      });
    }
  }
}
