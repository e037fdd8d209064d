// How fast events reach many clients. Every run waits until each client has got each event, and
// counts them.

import type { Cores } from "../http/cores.ts";
import { median, ratios, type Spread } from "../http/statistics.ts";
import { BASELINE, type Contestant, CONTESTANTS, publish, startForSpeed } from "./contestants.ts";
import { Subscribers } from "./subscribers.ts";

/** Rounds that do not count, until V8 has compiled the frequent functions. */
const WARM_ROUNDS = 4;

/** How fast a contestant was. */
export interface Speed {
  name: Contestant;
  /** Events that have reached a client, a second: the median. */
  rate: number;
  /**
   * The median CPU time of the server for each of them in microseconds, if the system reports it.
   */
  cpu: number | undefined;
  /** The rate, as often as that of the baseline. */
  throughput: Spread;
  /** How many times less CPU time than the baseline. */
  efficiency: Spread;
}

/** What is measured, and how often. */
export interface FanOut {
  /** Each publisher waits until its message is accepted, not until it is delivered. */
  publishers: number;
  events: number;
  subscribers: number;
  processes: number;
  rounds: number;
  cores: Cores;
  signal: AbortSignal;
}

/** The figures of one process, over all rounds. */
interface Sample {
  seconds: number;
  cpu: number;
}

/**
 * Measures all contestants. How fast a process is, its memory's layout decides, too: each sample is
 * of another one.
 */
export async function measureFanOut(fanOut: FanOut): Promise<Speed[]> {
  const { events, subscribers, processes, rounds } = fanOut;
  const samples = CONTESTANTS.map((name) => ({ name, own: [] as Sample[] }));
  for (let process = 0; process < processes; process++) {
    const side = await sampleSideBySide(fanOut);
    for (const { name, own } of samples) own.push(side[name]);
  }
  const deliveries = events * subscribers * rounds;
  const baseline = samples.find(({ name }) => name === BASELINE)?.own ?? [];
  const less = (own: Sample[], kind: keyof Sample) =>
    ratios(baseline.map((sample) => sample[kind]), own.map((sample) => sample[kind]));
  return samples.map(({ name, own }) => ({
    name,
    rate: deliveries / median(own.map(({ seconds }) => seconds)),
    cpu: Deno.build.os === "linux" ? median(own.map(({ cpu }) => cpu)) / deliveries : undefined,
    throughput: less(own, "seconds"),
    efficiency: less(own, "cpu"),
  }));
}

/**
 * Starts the contestants and takes turns. Turns are short and many, and their sum counts: a turn
 * takes longer by a half where the system happens to put the clients to sleep between two
 * deliveries.
 */
async function sampleSideBySide(fanOut: FanOut): Promise<Record<Contestant, Sample>> {
  const { subscribers, rounds, cores, signal } = fanOut;
  await using stack = new AsyncDisposableStack();
  const sums: Record<Contestant, Sample> = { loop: { seconds: 0, cpu: 0 }, topic: { seconds: 0, cpu: 0 } };
  const runs: { sum: Sample; run: () => Promise<Sample> }[] = [];
  for (const name of CONTESTANTS) {
    const server = stack.use(await startForSpeed(name, cores, signal));
    const clients = stack.use(await Subscribers.connect(server.port, subscribers));
    runs.push({ sum: sums[name], run: () => takeTurn(server, clients, fanOut) });
  }
  for (let round = -WARM_ROUNDS; round < rounds; round++) {
    for (const { sum, run } of round % 2 === 0 ? runs : runs.toReversed()) {
      signal.throwIfAborted();
      const { seconds, cpu } = await run();
      if (round < 0) continue;
      sum.seconds += seconds;
      sum.cpu += cpu;
    }
  }
  return sums;
}

async function takeTurn(
  server: { port: number; cpuTime(): number | undefined },
  clients: Subscribers,
  { publishers, events }: FanOut,
): Promise<Sample> {
  const before = server.cpuTime() ?? NaN;
  const start = performance.now();
  const received = clients.receive(events);
  let left = events;
  await Promise.all(Array.from({ length: publishers }, async () => {
    while (left-- > 0) await publish(server.port, 1);
  }));
  await received;
  return { seconds: (performance.now() - start) / 1000, cpu: (server.cpuTime() ?? NaN) - before };
}
