// What the samples of one server say beside those of another.

import type { Contestant } from "./measurement.ts";
import { median, ratios, type Spread } from "./statistics.ts";

/** A server's figures, absolute and divided by those of a reference in the same rounds. */
export interface Comparison {
  server: string;
  fillerRoutes: number;
  /** Median replies per second. */
  rate: number;
  /** Replies per second divided by the reference's. */
  throughput: Spread;
  /** Median CPU time per request in microseconds. */
  cpu: number | undefined;
  /** The reference's CPU time per request divided by the server's: like `throughput`, more is better. */
  efficiency: Spread | undefined;
  /** Median share of the time in which the server was busy. */
  busy: number | undefined;
}

/** Compares two contestants that were measured in the same rounds. */
export function compare(
  { server, fillerRoutes, samples }: Contestant,
  reference: Contestant,
): Comparison {
  const rates = samples.map(({ rate }) => rate);
  const cpu = cpuTimes(samples);
  const referenceCpu = cpuTimes(reference.samples);
  return {
    server,
    fillerRoutes,
    rate: median(rates),
    throughput: ratios(rates, reference.samples.map(({ rate }) => rate)),
    cpu: cpu && median(cpu),
    efficiency: cpu && referenceCpu && ratios(referenceCpu, cpu),
    busy: cpu && median(samples.flatMap(({ busy }) => busy ?? [])),
  };
}

function cpuTimes(samples: Contestant["samples"]): number[] | undefined {
  const times = samples.flatMap(({ cpu }) => cpu ?? []);
  return times.length === samples.length ? times : undefined;
}
