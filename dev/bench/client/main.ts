// `deno task bench client`: the size of the client in pages, and its calls compared with fetch by
// hand. The sizes decide the exit code, and the rates do not.

import { note } from "../figure.ts";
import { median, ratios } from "../http/statistics.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { BASELINE, BookServer, PARALLEL, requestsPerSecond, type Workload, WORKLOADS } from "./rates.ts";
import { measureSizes, type Sizes } from "./sizes.ts";

/** The most bytes, minified and gzipped. */
const LIMITS = { calls: 3_000, everything: 7_000 } as const;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const hasRoom = reportSizes(await measureSizes());
  const { deno, v8 } = Deno.version;
  console.log(`
Deno ${deno}, V8 ${v8}, ${Deno.build.target}
${options.rounds} interleaved rounds of ${options.requests} requests, ${PARALLEL} at a time; requests/s, medians
`);
  await using server = await BookServer.start();
  for (const workload of WORKLOADS) console.log(await compare(workload, server.origin, options, signal));
  return hasRoom ? 0 : 1;
}

/** Prints the sizes, and returns whether they are within the limits. */
function reportSizes({ calls, everything, parts }: Sizes): boolean {
  const measured = { calls, everything };
  let hasRoom = true;
  console.log("bytes in a page, minified and gzipped");
  for (const name of ["calls", "everything"] as const) {
    const limit = LIMITS[name];
    console.log(`  ${name.padEnd(14)}${`${measured[name]}`.padStart(6)} of ${limit}`);
    note({ measure: "size in a page", contestant: name, value: measured[name], unit: "bytes", rounds: 1 });
    if (measured[name] <= limit) continue;
    hasRoom = false;
    console.error(`  FAULT ${name}: ${measured[name]} bytes are more than ${limit}`);
  }
  console.log("loaded on first use");
  for (const [name, size] of [...parts].toSorted()) console.log(`  ${name.padEnd(14)}${`${size}`.padStart(6)}`);
  return hasRoom;
}

async function compare(
  { name, contestants }: Workload,
  origin: string,
  { rounds, requests }: Options,
  signal: AbortSignal,
): Promise<string> {
  const sends = Object.entries(contestants(origin));
  const rates = new Map<string, number[]>(sends.map(([contestant]) => [contestant, []]));
  // The first round warms up and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const [contestant, send] of sends) {
      signal.throwIfAborted();
      const rate = await requestsPerSecond(send, requests);
      if (round > 0) rates.get(contestant)?.push(rate);
    }
  }
  const lines = [...rates].map(([contestant, values]) => {
    const ratio = ratios(values, rates.get(BASELINE) ?? []);
    const value = median(values);
    note({ measure: name, contestant, reference: BASELINE, value, unit: "requests/s", ratio, rounds });
    const spread = `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)})`;
    return `  ${contestant.padEnd(8)}${value.toFixed(0).padStart(8)}${spread.padStart(24)}`;
  });
  return [name, ...lines].join("\n");
}
