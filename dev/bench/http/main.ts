// `deno task bench http`: webfw, a handler by hand and other frameworks on the same workloads.
// Every server is checked before it is measured. Figures never decide the exit code; a server that
// fails its checks does.

import { readNames, select } from "../command.ts";
import { LOAD_USAGE, type LoadOptions, readLoadOptions } from "../load_options.ts";
import { chooseCores } from "./cores.ts";
import { chooseLoadGenerator } from "./load.ts";
import { type Contestant, measure } from "./measurement.ts";
import { noteComparisons } from "./noting.ts";
import { report } from "./report.ts";
import { BASELINE, entriesOf, prepareServers } from "./servers.ts";
import { WORKLOADS } from "./workloads.ts";

/** Printed for `--help`. */
const USAGE = `Compares webfw with a handler written by hand and with other frameworks.

Options:
${LOAD_USAGE}
  --only <a,b>           workloads
  --servers <a,b>        servers; "deno", the handler written by hand, is always among
                         them; "hono-sync" is Hono with sync functions for handlers,
                         "deno-bounded" is "deno" with bounds for bodies
  --quick                check every server and workload, one round of 300ms
  --json <file>          write the samples
  --help                 print this text`;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readLoadOptions(args, ["servers", "json"]);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const workloads = select(WORKLOADS, options.only);
  const directory = await Deno.makeTempDir({ prefix: "bench_http_" });
  try {
    const cores = await chooseCores();
    const load = await chooseLoadGenerator(cores.client, directory);
    const all = await prepareServers(directory);
    const named = readNames(options.servers);
    const servers = select(all, named.length > 0 ? [BASELINE, ...named] : []);
    console.log(heading(options, load.name, cores.description));
    const results: Record<string, Contestant[]> = {};
    for (const workload of workloads) {
      const contestants = await measure(entriesOf(workload, servers), {
        load,
        prefix: cores.server,
        rounds: options.rounds,
        duration: options.duration,
        connections: options.connections,
        signal,
      });
      results[workload.name] = contestants;
      console.log(report(workload, contestants));
      noteComparisons(workload, contestants);
    }
    if (options.json !== undefined) {
      await Deno.writeTextFile(
        options.json,
        JSON.stringify({ options, load: load.name, cores, results }, null, 2),
      );
    }
    const faulty = Object.values(results).flat()
      .some(({ faults }) => faults.length > 0);
    return faulty ? 1 : 0;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function heading(
  { rounds, duration, connections }: LoadOptions,
  load: string,
  cores: string,
): string {
  const { deno, v8 } = Deno.version;
  return `Deno ${deno}, V8 ${v8}, ${Deno.build.target}
load by ${load}, ${connections} connections; ${cores}
${rounds} interleaved rounds of ${duration} ms; medians, in parentheses the lowest and the highest round
"deno" is the handler written by hand; all handlers are async functions, as those of webfw are, except
those of "-sync"; no server sends a header that a workload does not ask for, unless it says so below;
"deno-bounded" holds bodies to a size and a time, as webfw does, and the others do not
`;
}
