// The memory of clients: many that wait for events, and one that does not read.

import { median, ratios, type Spread } from "../http/statistics.ts";
import { BASELINE, type Contestant, CONTESTANTS, publish, residentMemory, startForMemory } from "./contestants.ts";
import { openStalled, Subscribers } from "./subscribers.ts";

/** The memory of a contestant. */
export interface Memory {
  name: Contestant;
  /** Bytes: the median. */
  bytes: number;
  /** As often as that of the baseline. */
  ratio: Spread;
}

/** The memory per client for this many connected clients that have received an event. */
export function measureSubscribers(subscribers: number, rounds: number, signal: AbortSignal): Promise<Memory[]> {
  return measure(rounds, signal, async (port) => {
    // The memory that the first connection needs once is not a cost of clients.
    using _first = await Subscribers.connect(port, 1);
    const before = await residentMemory(port);
    using clients = await Subscribers.connect(port, subscribers);
    const received = clients.receive(1);
    await publish(port, 1);
    await received;
    return (await residentMemory(port) - before) / subscribers;
  });
}

/** The memory for this many events if the only client does not read. */
export function measureStalled(events: number, rounds: number, signal: AbortSignal): Promise<Memory[]> {
  return measure(rounds, signal, async (port) => {
    // The memory that events need once, even without clients, is not a cost of the client.
    for (let warming = 0; warming < 2; warming++) await publish(port, events);
    const before = await residentMemory(port);
    using _stalled = await openStalled(port);
    await publish(port, events);
    return await residentMemory(port) - before;
  });
}

async function measure(
  rounds: number,
  signal: AbortSignal,
  run: (port: number) => Promise<number>,
): Promise<Memory[]> {
  const samples = new Map<Contestant, number[]>(CONTESTANTS.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of CONTESTANTS) {
      signal.throwIfAborted();
      await using server = await startForMemory(name, signal);
      samples.get(name)?.push(await run(server.port));
    }
  }
  const baseline = samples.get(BASELINE) ?? [];
  return [...samples].map(([name, own]) => ({ name, bytes: median(own), ratio: ratios(own, baseline) }));
}
