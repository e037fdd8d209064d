// `deno task bench start`: the time from the start of a process to its first reply, and its memory
// then, compared with a bare server. Each sample is a new process. The figures decide the exit code
// only with `--limit`.

import { select } from "../command.ts";
import { note } from "../figure.ts";
import { median } from "../http/statistics.ts";
import { commandOf, type Contestant, CONTESTANTS } from "./contestants.ts";
import { sampleStart } from "./first_reply.ts";
import { importTime } from "./import_time.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { Release } from "./release.ts";
import { compare, cpuTimes, excesses, type Measured, memoryOf, table } from "./report.ts";

/** Starts that fill the caches of Deno, and are not measured. */
const WARM_ROUNDS = 2;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const contestants = withReferences(select(CONTESTANTS, options.contestants));
  console.log(heading(options, contestants));
  const { measured, imports } = await measure(contestants, options, signal);
  console.log(table(measured));
  console.log(`\n  import of the framework alone: ${median(imports).toFixed(1)} ms`);
  noteAll(measured);
  if (options.json !== undefined) {
    await Deno.writeTextFile(options.json, JSON.stringify({ options, measured, imports }, null, 2));
  }
  const found = options.hasLimits ? excesses(measured) : [];
  for (const excess of found) console.error(excess);
  return found.length > 0 ? 1 : 0;
}

/** The contestants with their references, and the references of those. */
function withReferences(chosen: Contestant[]): Contestant[] {
  const needed = new Set(chosen);
  for (const { reference } of needed) {
    const found = CONTESTANTS.find(({ name }) => name === reference);
    if (found) needed.add(found);
  }
  return CONTESTANTS.filter((contestant) => needed.has(contestant));
}

/** The samples of the contestants, and the times of imports. */
interface Measurements {
  measured: Measured[];
  imports: number[];
}

async function measure(contestants: Contestant[], options: Options, signal: AbortSignal): Promise<Measurements> {
  const directory = await Deno.makeTempDir({ prefix: "bench_start_" });
  try {
    await using release = await Release.make();
    return await measureIn(directory, release, contestants, options, signal);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Starts each contestant once a round, every round beginning with another one. */
async function measureIn(
  directory: string,
  release: Release,
  contestants: Contestant[],
  { rounds, flags }: Options,
  signal: AbortSignal,
): Promise<Measurements> {
  const measured = contestants.map((contestant): Measured => ({ contestant, samples: [] }));
  const imports: number[] = [];
  for (let round = -WARM_ROUNDS; round < rounds; round++) {
    const first = Math.max(round, 0) % measured.length;
    for (const { contestant, samples } of [...measured.slice(first), ...measured.slice(0, first)]) {
      const sample = await sampleStart(commandOf(contestant, flags, directory, release), signal);
      if (round >= 0) samples.push(sample);
    }
    const time = await importTime(flags, signal);
    if (round >= 0) imports.push(time);
  }
  return { measured, imports };
}

/** Notes the figures for the table of all measurements. */
function noteAll(measured: Measured[]): void {
  for (const each of measured) {
    const { contestant: { name, reference }, samples } = each;
    const value = median(samples.map(({ time }) => time));
    const { time: ratio } = compare(each, measured);
    note({ measure: "first reply", contestant: name, reference, value, unit: "ms", ratio, rounds: samples.length });
  }
  for (const each of measured) {
    const { contestant: { name, reference }, samples } = each;
    const times = cpuTimes(samples);
    const { cpu: ratio } = compare(each, measured);
    if (!times || !ratio) continue;
    const value = median(times);
    note({ measure: "CPU time of it", contestant: name, reference, value, unit: "ms", ratio, rounds: times.length });
  }
  for (const { contestant: { name }, samples } of measured) {
    const value = memoryOf(samples) / 1024 / 1024;
    note({ measure: "resident memory after it", contestant: name, value, unit: "MiB", rounds: samples.length });
  }
}

function heading({ rounds, flags }: Options, contestants: Contestant[]): string {
  const { deno, v8 } = Deno.version;
  const width = Math.max(...contestants.map(({ name }) => name.length));
  return `Deno ${deno}, V8 ${v8}, ${Deno.build.target}; ${flags.length > 0 ? "no code cache" : "warm caches"}
${rounds} interleaved processes each, from the spawn to the first reply; medians, in parentheses the lowest and the highest
${contestants.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`).join("\n")}
`;
}
