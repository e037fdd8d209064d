// `deno task bench guards`: what a guard costs, in webfw and by hand. Four servers of each feature
// take part in the same rounds: webfw and the handler by hand, each with the feature and without.
// Every server is checked before it is measured. Figures never decide the exit code; a server that
// fails its checks does.

import { join } from "node:path";
import { select } from "../command.ts";
import { chooseCores } from "../http/cores.ts";
import { chooseLoadGenerator } from "../http/load.ts";
import { type Contestant, type Entry, measure } from "../http/measurement.ts";
import { LOAD_USAGE, type LoadOptions, readLoadOptions } from "../load_options.ts";
import { ownProgram } from "../own_program.ts";
import { type Feature, makeFeatures } from "./features.ts";
import { noteCosts, report, SERVERS } from "./report.ts";

/** Printed for `--help`. */
const USAGE = `Measures what guards, limits and headers cost in webfw, and by hand.

Options:
${LOAD_USAGE}
  --only <a,b>           features
  --quick                check every server, one round of 300ms
  --json <file>          write the samples
  --help                 print this text`;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readLoadOptions(args, ["json"]);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const { rounds, duration, connections } = options;
  const features = select(await makeFeatures(), options.only);
  const directory = await Deno.makeTempDir({ prefix: "bench_guards_" });
  try {
    const cores = await chooseCores();
    const load = await chooseLoadGenerator(cores.client, directory);
    console.log(heading(options, load.name, cores.description));
    const results: Record<string, Contestant[]> = {};
    for (const feature of features) {
      const contestants = await measure(entriesOf(feature), {
        load,
        prefix: cores.server,
        rounds,
        duration,
        connections,
        signal,
      });
      results[feature.name] = contestants;
      console.log(report(feature, contestants));
      noteCosts(feature, contestants);
    }
    if (options.json !== undefined) {
      await Deno.writeTextFile(options.json, JSON.stringify({ options, load: load.name, cores, results }, null, 2));
    }
    return Object.values(results).flat().some(({ faults }) => faults.length > 0) ? 1 : 0;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function entriesOf({ guard, argument, workAt }: Feature): Entry[] {
  return SERVERS.map(({ name, program, isWith }) => ({
    server: name,
    fillerRoutes: 0,
    command: [
      ...ownProgram(join(import.meta.dirname!, "servers", program)),
      "0",
      "async",
      isWith ? guard : "none",
      argument,
    ],
    workAt: (port) => workAt(port, isWith),
  }));
}

function heading({ rounds, duration, connections }: LoadOptions, load: string, cores: string): string {
  const { deno, v8 } = Deno.version;
  return `Deno ${deno}, V8 ${v8}, ${Deno.build.target}
load by ${load}, ${connections} connections; ${cores}
${rounds} interleaved rounds of ${duration} ms; medians of the CPU time per request, in parentheses the lowest and the
highest round; ratios are calculated for each round: 1.05 is 5 % more time
`;
}
