// `deno task bench`: all measurements, one after another, and one table of the figures. A
// measurement that fails its own checks decides the exit code. Figures do not.

import { join } from "node:path";
import { findDenokv } from "../../../tests/denokv/denokv.ts";
import { select } from "../command.ts";
import { type Figure, FIGURES_FILE, readFigures } from "../figure.ts";
import { ownProgram } from "../own_program.ts";
import { type Bench, BENCHES } from "./benches.ts";
import { readOptions, USAGE } from "./options.ts";
import { section } from "./table.ts";

/** The outcome of a measurement. */
interface Outcome {
  title: string;
  figures: Figure[];
  hasFailed: boolean;
}

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const { deno, v8 } = Deno.version;
  console.log(`Deno ${deno}, V8 ${v8}, ${Deno.build.target}, ${navigator.hardwareConcurrency} cores\n`);
  const outcomes: Outcome[] = [];
  for (const bench of select(BENCHES, options.benches)) {
    const outcome = await run(bench, options.isQuick, signal);
    if (!outcome) continue;
    outcomes.push(outcome);
    console.log(section(outcome.title, outcome.figures));
  }
  if (options.json !== undefined) await Deno.writeTextFile(options.json, JSON.stringify(outcomes, null, 2));
  return outcomes.some(({ hasFailed }) => hasFailed) ? 1 : 0;
}

/** Runs a measurement in a new process, or reports that it cannot run on this machine. */
async function run(bench: Bench, isQuick: boolean, signal: AbortSignal): Promise<Outcome | undefined> {
  if (bench.needsDenokv && await findDenokv() === undefined) {
    console.log(`### ${bench.title}\n\nLeft out: denokv is not installed, see "deno task denokv:install"\n`);
    return undefined;
  }
  const file = await Deno.makeTempFile({ prefix: "bench_figures_" });
  try {
    const [program = "", ...args] = ownProgram(join(import.meta.dirname!, "..", "main.ts"), "--no-lock");
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args: [...args, bench.name, ...(isQuick ? bench.quick : bench.args)],
      stdin: "null",
      env: { [FIGURES_FILE]: file, NO_COLOR: "1" },
      signal,
    }).output();
    signal.throwIfAborted();
    if (!success) {
      const decoder = new TextDecoder();
      console.error(`The measurement "${bench.name}" failed\n${decoder.decode(stdout)}${decoder.decode(stderr)}`);
    }
    return { title: bench.title, figures: await readFigures(file), hasFailed: !success };
  } finally {
    await Deno.remove(file);
  }
}
