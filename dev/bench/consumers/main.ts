// `deno task bench consumers`: consumers of durable topics compared with queues of BullMQ and NATS
// JetStream. Handlers do nothing, and 64 messages are in flight. Figures never decide the exit code; a
// message that is not handled does.

import { select } from "../command.ts";
import { note } from "../figure.ts";
import type { ServerProcess } from "../http/server_process.ts";
import { median, ratios } from "../http/statistics.ts";
import { type Contestant, CONTESTANTS, REFERENCE } from "./contestants.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { IN_FLIGHT, type Rates } from "./work.ts";

/** A contestant that runs, and what each round gave. */
interface Measured {
  readonly name: string;
  readonly process: ServerProcess;
  readonly published: number[];
  readonly handled: number[];
  /** The times of each round, in milliseconds. */
  readonly latencies: number[][];
}

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  console.log(heading(options));
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "webfw_bench_" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const all: Measured[] = [];
  for (const contestant of select(CONTESTANTS, options.contestants)) {
    const process = await start(contestant, stack, folder, signal);
    if (process) all.push({ name: contestant.name, process, published: [], handled: [], latencies: [] });
  }
  // The first round warms up and does not count.
  for (let round = 0; round <= options.rounds; round++) {
    for (const each of shuffled(all)) {
      const { published, handled } = await ask<Rates>(each, "rates", options.messages, signal);
      if (round === 0) continue;
      each.published.push(published);
      each.handled.push(handled);
    }
    for (const each of shuffled(all)) {
      const times = await ask<number[]>(each, "latencies", options.single, signal);
      if (round > 0) each.latencies.push(times);
    }
  }
  report(all, options.rounds);
  return 0;
}

async function start(
  contestant: Contestant,
  stack: AsyncDisposableStack,
  folder: string,
  signal: AbortSignal,
): Promise<ServerProcess | undefined> {
  const lack = await contestant.lack();
  if (lack === undefined) return stack.use(await contestant.start(stack, folder, signal));
  console.log(`Left out: ${contestant.name}, ${lack}\n`);
  return undefined;
}

async function ask<Answer>(
  { name, process }: Measured,
  path: string,
  count: number,
  signal: AbortSignal,
): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${process.port}/${path}?count=${count}`, { signal });
  if (!response.ok) throw new Error(`Cannot measure ${name}: ${await response.text()}`);
  return await response.json();
}

function heading({ rounds, messages, single }: Options): string {
  const load = Deno.loadavg().map((value) => value.toFixed(1)).join(", ");
  return `Deno ${Deno.version.deno}, ${Deno.build.target}; load of the machine before: ${load}
${rounds} interleaved rounds, medians; ${messages} messages are published by ${IN_FLIGHT} publishers, and then handled, ${IN_FLIGHT} in flight
Latency: from the call of publish to the handler, ${single} messages a round, about 50 a second
In parentheses: how many times the figure of ${REFERENCE} in the same round, median, lowest and highest
`;
}

function report(all: readonly Measured[], rounds: number): void {
  const reference = all.find(({ name }) => name === REFERENCE);
  console.log(
    "                   published/s    handled/s                      of published   p50 ms                    p99 ms",
  );
  for (const each of all) {
    const { name, published, handled } = each;
    const share = ratios(handled, published).median;
    const p50 = each.latencies.map(median);
    const p99 = quantile(each.latencies.flat(), 0.99);
    const rateRatio = reference && ratios(handled, reference.handled);
    const timeRatio = reference && ratios(p50, reference.latencies.map(median));
    const common = { contestant: name, rounds };
    note({ ...common, measure: "published, 64 publishers", value: median(published), unit: "messages/s" });
    note({
      ...common,
      ...(rateRatio && { reference: REFERENCE, ratio: rateRatio }),
      measure: "handled, 64 in flight",
      value: median(handled),
      unit: "messages/s",
    });
    note({
      ...common,
      ...(timeRatio && { reference: REFERENCE, ratio: timeRatio }),
      measure: "latency at a low rate",
      value: median(p50),
      unit: "ms",
    });
    console.log(
      [
        name.padEnd(17),
        figure(median(published)).padStart(13),
        `${figure(median(handled)).padStart(13)} ${spread(rateRatio)}`,
        share.toFixed(2).padStart(10),
        `${median(p50).toFixed(2).padStart(13)} ${spread(timeRatio)}`,
        p99.toFixed(1).padStart(8),
      ].join(""),
    );
  }
}

function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(part * (sorted.length - 1))] ?? NaN;
}

function spread(ratio: ReturnType<typeof ratios> | undefined): string {
  const text = ratio ? `(${ratio.median.toFixed(2)}, ${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)})` : "";
  return text.padEnd(22);
}

function figure(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** The same in random order. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, place: Math.random() }));
  return drawn.sort((a, b) => a.place - b.place).map(({ item }) => item);
}
