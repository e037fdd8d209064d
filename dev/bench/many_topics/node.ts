// A node that subscribes to many durable topics. The argument is its plan in JSON. It reads commands,
// one a line, and answers each with a line of JSON.

import { cpuUsage, stdin } from "node:process";
import { createInterface } from "node:readline";
import { App } from "../../../mod.ts";

/** The plan of the process. */
export interface Plan {
  readonly url: string;
  readonly topics: number;
}

/** What it answers after its start. */
export interface Started {
  /** Until all positions are known, in milliseconds. */
  readonly start: number;
  /** For each topic, in bytes: of the heap and of the process. */
  readonly heap: number;
  readonly rss: number;
}

/** What it answers after a burst, in milliseconds. */
export interface Received {
  /** Since the call of publish, sorted. */
  readonly delays: readonly number[];
  readonly cpu: number;
}

const { url, topics: count } = JSON.parse(Deno.args[0]!) as Plan;
const app = new App({ topics: url });
const topics = Array.from({ length: count }, (_, index) => app.topic<number>(`topic ${index}`, { durable: true }));
await app.start();
await topics[0]!.head();
let delays: number[] = [];
let whenComplete = Promise.withResolvers<void>();
const before = memory();
const begin = Date.now();
await Promise.all(topics.map(async (topic) => {
  const subscription = topic.subscribe();
  await subscription.cursor();
  void (async () => {
    for await (const entry of subscription) {
      if ("gap" in entry) throw new Error(`A gap: ${entry.gap.reason}`);
      delays.push(Date.now() - entry.data);
      if (delays.length === count) whenComplete.resolve();
    }
  })();
}));
const start = Date.now() - begin;
const after = memory();
answer({ start, heap: (after.heap - before.heap) / count, rss: (after.rss - before.rss) / count } satisfies Started);

let used = cpu();
for await (const command of createInterface(stdin)) {
  if (command === "cpu") {
    answer(cpu() - used);
    used = cpu();
  } else if (command === "memory") {
    const { heap, rss } = memory();
    answer({ start: 0, heap: (heap - before.heap) / count, rss: (rss - before.rss) / count } satisfies Started);
  } else if (command === "publish") {
    await Promise.all(topics.map((topic) => topic.publish(Date.now())));
    answer("published");
  } else if (command === "received") {
    await whenComplete.promise;
    answer({ delays: delays.sort((a, b) => a - b), cpu: cpu() - used } satisfies Received);
    used = cpu();
    delays = [];
    whenComplete = Promise.withResolvers();
  } else break;
}
await app.stop();
Deno.exit();

function memory(): { readonly heap: number; readonly rss: number } {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external, rss } = Deno.memoryUsage();
  return { heap: heapUsed + external, rss };
}

/** In milliseconds. */
function cpu(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000;
}

function answer(value: unknown): void {
  console.log(JSON.stringify(value));
}
