// Compares the samples of one server with those of another.

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
  /**
   * The reference's CPU time per request divided by the server's: like `throughput`, more is
   * better.
   */
  efficiency: Spread | undefined;
  /** Median share of the time in which the server was busy. */
  busy: number | undefined;
  /** The rounds that count. */
  rounds: number;
}

/**
 * Below this share of the time, a server was kept from its core by something else, and each request
 * cost it more.
 */
const BUSY = 0.9;

/** Fewer rounds give no useful median. */
const MIN_ROUNDS = 3;

/**
 * Compares two contestants that were measured in the same rounds: those in which both had a core
 * for themselves, where there are enough of them, else all.
 */
export function compare({ server, fillerRoutes, samples: all }: Contestant, reference: Contestant): Comparison {
  const isQuiet = (round: number) => [all, reference.samples].every((each) => (each[round]?.busy ?? 1) >= BUSY);
  const quiet = all.map((_, round) => round).filter(isQuiet);
  const counted = quiet.length >= MIN_ROUNDS ? quiet : [...all.keys()];
  const samples = counted.flatMap((round) => all[round] ?? []);
  const referenceSamples = counted.flatMap((round) => reference.samples[round] ?? []);
  const rates = samples.map(({ rate }) => rate);
  const cpu = cpuTimes(samples);
  const referenceCpu = cpuTimes(referenceSamples);
  return {
    server,
    fillerRoutes,
    rate: median(rates),
    throughput: ratios(rates, referenceSamples.map(({ rate }) => rate)),
    cpu: cpu && median(cpu),
    efficiency: cpu && referenceCpu && ratios(referenceCpu, cpu),
    busy: cpu && median(samples.flatMap(({ busy }) => busy ?? [])),
    rounds: counted.length,
  };
}

function cpuTimes(samples: Contestant["samples"]): number[] | undefined {
  const times = samples.flatMap(({ cpu }) => cpu ?? []);
  return times.length === samples.length ? times : undefined;
}
