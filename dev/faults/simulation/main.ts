// `deno task fault simulated`: the work of the nodes of `deno task fault` in virtual time, over a
// database, a network and deaths that are simulated. A seed is the same run each time.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, refuseUnknown } from "../../bench/command.ts";
import { Random } from "../../../tests/unit/support/random.ts";
import { simulate } from "./simulation.ts";

const USAGE = `Simulates nodes of durable topics while things go wrong, and checks what they saw.

Options:
  --seeds <n>      runs (default 1000)
  --from <n>       the first seed (default 1)
  --verbose        tell of each run
  --help           print this text`;

/** Progress is printed after this many runs. */
const TELL_EACH = 200;
/** How many runs without the checks of writes are tried, until one is found to be wrong. */
const CONTROLS = 20;

interface Counts {
  acknowledged: number;
  unknown: number;
  reads: number;
  gaps: number;
  /** In virtual milliseconds. */
  time: number;
}

/** Makes the runs, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const parsed = parseArgs(args, {
    string: ["seeds", "from"],
    boolean: ["verbose", "help"],
    unknown: refuseUnknown,
  });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const first = readCount(parsed.from ?? "1");
  const seeds = readCount(parsed.seeds ?? "1000");
  const total: Counts = { acknowledged: 0, unknown: 0, reads: 0, gaps: 0, time: 0 };
  const injected = new Map<string, number>();
  const faulty: number[] = [];
  for (let seed = first; seed < first + seeds; seed++) {
    // Between two runs Ctrl-C is heard.
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    if (!await isClean(seed, total, injected, parsed.verbose)) faulty.push(seed);
    const done = seed - first + 1;
    if (done % TELL_EACH === 0 && done < seeds) console.log(`${done} of ${seeds} runs, ${faulty.length} with faults`);
  }
  tell(seeds, total, injected);
  for (const seed of faulty) console.error(`FAULT in seed ${seed}`);
  return faulty.length === 0 && await controlIsFound(first) ? 0 : 1;
}

async function isClean(
  seed: number,
  total: Counts,
  injected: Map<string, number>,
  isVerbose: boolean,
): Promise<boolean> {
  try {
    const run = await simulate(new Random(seed));
    for (const key of ["acknowledged", "unknown", "reads", "gaps", "time"] as const) total[key] += run[key];
    for (const [what, count] of run.injected) injected.set(what, (injected.get(what) ?? 0) + count);
    if (isVerbose || run.faults.length > 0) console.log(`seed ${seed}: ${run.faults.length} faults, ${toText(run)}`);
    for (const fault of run.faults.slice(0, 10)) console.error(`  FAULT ${fault}`);
    return run.faults.length === 0;
  } catch (error) {
    console.error(`seed ${seed}: FAULT the run did not come to its end:`, error);
    return false;
  }
}

function tell(seeds: number, total: Counts, injected: ReadonlyMap<string, number>): void {
  console.log(`${seeds} runs: ${toText(total)}`);
  const names = [...injected].toSorted(([, a], [, b]) => b - a);
  console.log(`What was asked, and other events: ${names.map(([what, count]) => `${count} ${what}`).join(", ")}`);
}

function toText({ acknowledged, unknown, reads, gaps, time }: Counts): string {
  const minutes = Math.round(time / 60_000);
  return `${acknowledged} acknowledged, ${unknown} unknown, ${reads} read, ${gaps} gaps, ${minutes} virtual minutes`;
}

/**
 * Runs without the checks of writes, of which at least one must show faults. Some runs contain
 * nothing that could go wrong.
 */
async function controlIsFound(first: number): Promise<boolean> {
  for (let seed = first; seed < first + CONTROLS; seed++) {
    const { faults } = await simulate(new Random(seed), { isBlind: true });
    if (!faults.some((fault) => fault.includes("is there twice"))) continue;
    console.log(`control, seed ${seed}: no checks, ${faults.length} faults, as it must be`);
    return true;
  }
  console.error("  FAULT the checker finds nothing where writes check nothing");
  return false;
}
