// `deno task bench board`: what a request costs where an application shows its board. Both servers
// take part in the same rounds. Figures decide the exit code only with `--limit`.

import { join } from "node:path";
import { readRatio, select } from "../command.ts";
import { note } from "../figure.ts";
import { chooseCores } from "../http/cores.ts";
import { chooseLoadGenerator } from "../http/load.ts";
import { type Entry, measure, type Sample } from "../http/measurement.ts";
import { median, ratios } from "../http/statistics.ts";
import { type Workload, WORKLOADS } from "../http/workloads.ts";
import { LOAD_USAGE, readLoadOptions } from "../load_options.ts";
import { ownProgram } from "../own_program.ts";

const WITHOUT = "webfw";
const WITH = "webfw, with its board";

/** Printed for `--help`. */
const USAGE = `Measures what a request costs where the application shows its board, and without.

Options:
${LOAD_USAGE}
  --only <a,b>           workloads
  --limit <ratio>        fail if the median of a ratio is greater
  --quick                check every server, one round of 300ms
  --help                 print this text`;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readLoadOptions(args, ["limit"]);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const { rounds, duration, connections } = options;
  const limit = options.limit === undefined ? undefined : readRatio(options.limit);
  const directory = await Deno.makeTempDir({ prefix: "bench_board_" });
  let hasFailed = false;
  try {
    const cores = await chooseCores();
    const load = await chooseLoadGenerator(cores.client, directory);
    console.log(`load by ${load.name}, ${connections} connections; ${cores.description}`);
    console.log(`${rounds} interleaved rounds of ${duration} ms; CPU time per request\n`);
    // The number of other routes changes nothing of the board.
    const workloads = WORKLOADS.filter(({ fillerRoutes }) => fillerRoutes.length === 1);
    for (const workload of select(workloads, options.only)) {
      const measured = { load, prefix: cores.server, rounds, duration, connections, signal };
      const contestants = await measure(entriesOf(workload), measured);
      const faults = contestants.flatMap(({ server, faults }) => faults.map((fault) => `${server}: ${fault}`));
      if (faults.length > 0) {
        console.log(`${workload.title}\n  left out: ${faults.join("; ")}\n`);
        hasFailed = true;
        continue;
      }
      const timesOf = (name: string) => contestants.find(({ server }) => server === name)!.samples.map(timeOf);
      const [without, withBoard] = [timesOf(WITHOUT), timesOf(WITH)];
      const ratio = ratios(withBoard, without);
      const spread = `${ratio.median.toFixed(3)} (${ratio.min.toFixed(2)}-${ratio.max.toFixed(2)})`;
      const times = `${median(without).toFixed(2)} us, with the board ${median(withBoard).toFixed(2)} us`;
      console.log(`${workload.title}\n  ${times}, ratio ${spread}\n`);
      const figure = { measure: workload.title, contestant: WITH, reference: WITHOUT, unit: "us" } as const;
      note({ ...figure, value: median(withBoard), ratio, rounds: withBoard.length });
      if (limit !== undefined && ratio.median > limit) hasFailed = true;
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  return hasFailed ? 1 : 0;
}

function entriesOf(workload: Workload): Entry[] {
  const program = join(import.meta.dirname!, "server.ts");
  return [WITHOUT, WITH].map((server) => ({
    server,
    fillerRoutes: 0,
    command: [...ownProgram(program), "0", "async", server === WITH ? "board" : "none"],
    workAt: async () => workload,
  }));
}

/** Where the system reports no CPU time, the time between two replies. */
function timeOf({ cpu, rate }: Sample): number {
  return cpu ?? 1e6 / rate;
}
