// `deno task bench topics`: topics in memory compared with a loop by hand, without HTTP. Figures
// never decide the exit code; a reader that misses a message does.

import { select } from "../command.ts";
import { note } from "../figure.ts";
import { median, ratios } from "../http/statistics.ts";
import { BASELINE, CONTESTANTS } from "./contestants.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { run, type Workload, WORKLOADS } from "./workloads.ts";

/** Publishing without readers is faster than fan-out by about this factor. */
const PUBLISH_FACTOR = 20;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  console.log(heading(options));
  let hasFaults = false;
  for (const workload of select(WORKLOADS, options.workloads)) {
    const { lines, faults } = await measure(workload, options, signal);
    console.log(lines.join("\n"));
    for (const fault of faults) console.error(`  FAULT ${fault}`);
    hasFaults ||= faults.length > 0;
  }
  return hasFaults ? 1 : 0;
}

async function measure(
  workload: Workload,
  { rounds, messages, readers }: Options,
  signal: AbortSignal,
): Promise<{ lines: string[]; faults: string[] }> {
  const count = workload.isRead ? messages : messages * PUBLISH_FACTOR;
  const rates = new Map<string, number[]>(CONTESTANTS.map(({ name }) => [name, []]));
  const faults: string[] = [];
  // The first round warms up and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const { name, open } of CONTESTANTS) {
      signal.throwIfAborted();
      const board = open();
      const { messagesPerSecond, fault } = await run(workload, board, count, readers);
      await board.close();
      if (fault !== undefined) faults.push(`${workload.name}, ${name}: ${fault}`);
      if (round > 0) rates.get(name)?.push(messagesPerSecond);
    }
  }
  const baseline = rates.get(BASELINE) ?? [];
  const deliveries = workload.isRead ? readers : 1;
  const lines = [...rates].map(([name, values]) => {
    const ratio = ratios(values, baseline);
    note({
      measure: `${workload.name}: ${workload.description}`,
      contestant: name,
      reference: BASELINE,
      value: median(values),
      unit: "messages/s",
      ratio,
      rounds,
    });
    const figures = [
      figure(median(values)).padStart(11),
      figure(median(values) * deliveries).padStart(13),
      `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)})`.padStart(22),
    ];
    return `  ${name.padEnd(8)}${figures.join("")}`;
  });
  return { lines: [`${workload.name}: ${workload.description}`, ...lines, ""], faults };
}

function heading({ rounds, messages, readers }: Options): string {
  const { deno, v8 } = Deno.version;
  return `Deno ${deno}, V8 ${v8}, ${Deno.build.target}
${rounds} interleaved rounds of ${messages} messages for ${readers} readers, or ${
    messages * PUBLISH_FACTOR
  } for none; medians
"loop" gives each reader the same object at once: it writes no JSON, keeps nothing and is not bounded

           messages/s  deliveries/s          times the loop
`;
}

function figure(value: number): string {
  return Math.round(value).toLocaleString("en");
}
