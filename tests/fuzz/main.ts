// `deno task fuzz`: compares compiled checks with valibot for many random schemas and values. `deno
// task test` has a short form.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, refuseUnknown, runCommand } from "../../dev/bench/command.ts";
import { CheckFuzz } from "../unit/schema/support/check_fuzz.ts";

const USAGE = `Compares compiled checks with valibot, for random schemas and values.

Options:
  --values <n>     how many values (default 1000000)
  --seed <n>       what the choices are made of (default 1)
  --help           print this text`;

/** Ctrl-C is handled after this many values. */
const PART = 10_000;

async function main(args: string[], signal: AbortSignal): Promise<number> {
  const parsed = parseArgs(args, { string: ["values", "seed"], boolean: ["help"], unknown: refuseUnknown });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const values = readCount(parsed.values ?? "1000000");
  const seed = readCount(parsed.seed ?? "1");
  const fuzz = new CheckFuzz(seed);
  while (fuzz.values < values) {
    fuzz.run(Math.min(PART, values - fuzz.values));
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
  }
  const [all, schemas, valid] = [fuzz.values, fuzz.schemas, fuzz.counts.valid].map((count) =>
    count.toLocaleString("en")
  );
  console.log(`${all} values of ${schemas} schemas from seed ${seed}, ${valid} of them valid: no difference`);
  console.log("Checks that were spoilt, and how many of them were noticed by the values of one schema:");
  for (const [fault, { given, noticed }] of fuzz.faults) console.log(`  ${fault}: ${noticed} of ${given}`);
  const isBlind = [...fuzz.faults.values()].some(({ noticed }) => noticed === 0);
  if (isBlind) console.error("A fault is never noticed: take more values, or repair the comparison");
  return isBlind ? 1 : 0;
}

if (import.meta.main) await runCommand(main);
