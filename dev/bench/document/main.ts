// `deno task bench document`: the cost of the first document of an application right after its
// registration, compared with writing it as JSON. Each sample is a new process, since the first
// document is made before V8 has compiled the code. The figures decide the exit code only with
// `--limit`.

import { join } from "node:path";
import { select } from "../command.ts";
import { note } from "../figure.ts";
import { median } from "../http/statistics.ts";
import { prepareDeno } from "../../tools/deno.ts";
import { type Application, APPLICATIONS } from "./applications.ts";
import type { Sample } from "./one_document.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { excesses, type Measured, ratiosOf, table } from "./report.ts";

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const applications = select(APPLICATIONS, options.applications);
  const { deno, v8 } = Deno.version;
  console.log(`Deno ${deno}, V8 ${v8}, ${Deno.build.target}
applications of ${options.routes} routes; ${options.rounds} interleaved processes each; times in ms, medians
`);
  const measured = await measure(applications, options, signal);
  console.log(table(measured));
  for (const one of measured) {
    note({
      measure: `first document of ${options.routes} routes`,
      contestant: one.application,
      reference: "writing it as JSON",
      value: median(one.samples.map(({ document }) => document)),
      unit: "ms",
      ratio: ratiosOf(one),
      rounds: options.rounds,
    });
  }
  if (options.json !== undefined) await Deno.writeTextFile(options.json, JSON.stringify(measured, null, 2));
  const found = options.limit === undefined ? [] : excesses(measured, options.limit);
  for (const excess of found) console.error(excess);
  return found.length > 0 ? 1 : 0;
}

/**
 * Takes one sample of each application in turn, so that a slow phase of the machine affects all.
 */
async function measure(applications: Application[], options: Options, signal: AbortSignal): Promise<Measured[]> {
  const measured = applications.map(({ name }): Measured => ({ application: name, samples: [] }));
  for (let round = 0; round < options.rounds; round++) {
    for (const { application, samples } of measured) samples.push(await sample(application, options.routes, signal));
  }
  return measured;
}

async function sample(application: string, routes: number, signal: AbortSignal): Promise<Sample> {
  const program = join(import.meta.dirname!, "one_document.ts");
  await using prepared = await prepareDeno(["run", "-A", "--no-check", program, application, `${routes}`], {
    stdin: "null",
    stderr: "inherit",
    signal,
  });
  const { success, stdout } = await prepared.command.output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  throw new Error(`Cannot measure the application "${application}": its process failed`);
}
