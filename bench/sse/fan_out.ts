// How fast events reach many clients. Every run waits until each client has got each event, and counts them.

import type { Cores } from "../http/cores.ts";
import { median, ratios, type Spread } from "../http/statistics.ts";
import { BASELINE, type Contestant, CONTESTANTS, publish, startForSpeed } from "./contestants.ts";
import { Subscribers } from "./subscribers.ts";

/** How fast a contestant was. */
export interface Speed {
  name: Contestant;
  /** Events that have reached a client, a second: the median. */
  rate: number;
  /** CPU time of the server for each of them in microseconds, where the system tells it: the median. */
  cpu: number | undefined;
  /** The rate, as often as that of the baseline. */
  throughput: Spread;
  /** How many times less CPU time than the baseline. */
  efficiency: Spread;
}

/** What is measured, and how often. */
export interface FanOut {
  /** Each waits until what it has published is taken, not until it has been delivered. */
  publishers: number;
  events: number;
  subscribers: number;
  rounds: number;
  cores: Cores;
  signal: AbortSignal;
}

interface Sample {
  rate: number;
  cpu: number;
}

/** Measures all contestants in interleaved rounds. */
export async function measureFanOut(fanOut: FanOut): Promise<Speed[]> {
  const { subscribers, rounds, cores, signal } = fanOut;
  await using stack = new AsyncDisposableStack();
  const samples = new Map<Contestant, Sample[]>();
  const runs: { name: Contestant; run: () => Promise<Sample> }[] = [];
  for (const name of CONTESTANTS) {
    const server = stack.use(await startForSpeed(name, cores, signal));
    const clients = stack.use(await Subscribers.connect(server.port, subscribers));
    runs.push({ name, run: () => sample(server, clients, fanOut) });
    samples.set(name, []);
  }
  // The first round warms up and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const { name, run } of round % 2 === 0 ? runs : runs.toReversed()) {
      signal.throwIfAborted();
      const result = await run();
      if (round > 0) samples.get(name)?.push(result);
    }
  }
  const baseline = samples.get(BASELINE) ?? [];
  return [...samples].map(([name, own]) => ({
    name,
    rate: median(own.map(({ rate }) => rate)),
    cpu: Deno.build.os === "linux" ? median(own.map(({ cpu }) => cpu)) : undefined,
    throughput: ratios(own.map(({ rate }) => rate), baseline.map(({ rate }) => rate)),
    efficiency: ratios(baseline.map(({ cpu }) => cpu), own.map(({ cpu }) => cpu)),
  }));
}

async function sample(
  server: { port: number; cpuTime(): number | undefined },
  clients: Subscribers,
  { publishers, events, subscribers }: FanOut,
): Promise<Sample> {
  const before = server.cpuTime() ?? NaN;
  const start = performance.now();
  const received = clients.receive(events);
  let left = events;
  await Promise.all(Array.from({ length: publishers }, async () => {
    while (left-- > 0) await publish(server.port, 1);
  }));
  await received;
  const seconds = (performance.now() - start) / 1000;
  const deliveries = events * subscribers;
  return { rate: deliveries / seconds, cpu: ((server.cpuTime() ?? NaN) - before) / deliveries };
}
