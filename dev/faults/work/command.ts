// The runs of consumers and crons on all stores, and of broken nodes, whose faults must be found.

import { parseArgs } from "@std/cli/parse-args";
import { join } from "node:path";
import { readCount, readNames, refuseUnknown, select } from "../../bench/command.ts";
import { Random } from "../../../tests/unit/support/random.ts";
import { type SharedStore, type StoreKind, STORES } from "./store.ts";
import type { Trouble } from "./trouble.ts";

/** What a run has. */
export interface RunContext {
  readonly random: Random;
  readonly store: SharedStore;
  /** A folder of its own. */
  readonly folder: string;
}

/** What a run gives. */
export interface RunResult {
  readonly summary: string;
  readonly faults: readonly string[];
  /** What was done to nodes and stores. */
  readonly troubles: readonly Trouble[];
}

/** Nodes whose program is broken, so that a check must find it. */
export interface Control {
  readonly name: string;
  /** The kind of store, if it is among those of the run. */
  readonly store: string;
  /** A part of a fault that must be found. */
  readonly finds: string;
  run(context: RunContext): Promise<RunResult>;
}

/** What is broken and checked. */
export interface Experiment {
  readonly name: string;
  run(context: RunContext): Promise<RunResult>;
  readonly controls: readonly Control[];
}

const USAGE = `Breaks nodes and stores, and checks what the nodes did. Then it runs broken nodes, which must be found.

Options:
  --seeds <n>      runs on each store (default 2)
  --from <n>       the first seed (default 1)
  --jobs <n>       runs at a time (default 3; much of a run is waiting)
  --only <a,b>     stores: ${STORES.map(({ name }) => name).join(", ")}
  --no-controls    leave out the broken nodes
  --help           print this text

The environment variable FAULT_LOG=1 shows what the nodes log.`;

/** How many faults of a run are shown. */
const SHOWN = 10;
/** How often broken nodes run until they are found: what they break depends on the moment. */
const CONTROL_TRIES = 3;

/** Runs what the arguments name, and returns the exit code. */
export async function runExperiment(experiment: Experiment, args: string[], signal: AbortSignal): Promise<number> {
  const parsed = parseArgs(args, {
    string: ["seeds", "from", "jobs", "only"],
    boolean: ["help", "controls"],
    negatable: ["controls"],
    default: { controls: true },
    unknown: refuseUnknown,
  });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const kinds = select([...STORES], readNames(parsed.only));
  for (const { name, missing } of kinds) if (missing) console.log(`${experiment.name} ${name}: SKIPPED, ${missing}`);
  const usable = kinds.filter(({ missing }) => missing === undefined);
  const runs: (() => Promise<boolean>)[] = [];
  const first = readCount(parsed.from ?? "1");
  for (let seed = first; seed < first + readCount(parsed.seeds ?? "2"); seed++) {
    for (const kind of usable) runs.push(() => isClean(experiment, kind, seed));
  }
  for (const control of parsed.controls ? experiment.controls : []) {
    const kind = usable.find(({ name }) => name === control.store) ?? usable[0];
    if (kind) runs.push(() => isFound(experiment, control, kind, first));
  }
  const begin = performance.now();
  let [done, bad] = [0, 0];
  const waiting = runs.values();
  const work = async () => {
    for (const run of waiting) {
      if (signal.aborted) return;
      if (!await run()) bad++;
      done++;
    }
  };
  await Promise.all(Array.from({ length: readCount(parsed.jobs ?? "3") }, work));
  console.log(`${done} runs, ${bad} with faults, ${secondsSince(begin)} s`);
  signal.throwIfAborted();
  return bad === 0 ? 0 : 1;
}

async function isClean(experiment: Experiment, kind: StoreKind, seed: number): Promise<boolean> {
  const begin = performance.now();
  const title = `${experiment.name} ${kind.name} seed ${seed}`;
  console.log(`${title}: begins`);
  const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
  const { summary, faults, troubles } = await resultOf(experiment.run, kind, { seed, folder });
  console.log(`${title}: ${summary}; ${faults.length} faults, ${secondsSince(begin)} s`);
  for (const fault of faults.slice(0, SHOWN)) console.error(`  FAULT ${title}: ${fault}`);
  if (faults.length === 0) await Deno.remove(folder, { recursive: true });
  else {
    await Deno.writeTextFile(join(folder, "troubles.json"), JSON.stringify(troubles));
    console.error(`  The logs of the nodes are in ${folder}`);
  }
  return faults.length === 0;
}

async function isFound({ name }: Experiment, control: Control, kind: StoreKind, first: number): Promise<boolean> {
  const begin = performance.now();
  const title = `${name} ${kind.name} control: ${control.name}`;
  console.log(`${title}: begins`);
  const others = new Set<string>();
  for (let seed = first; seed < first + CONTROL_TRIES; seed++) {
    const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
    const { faults } = await resultOf((context) => control.run(context), kind, { seed, folder });
    await Deno.remove(folder, { recursive: true });
    const found = faults.filter((fault) => fault.includes(control.finds));
    if (found.length > 0) {
      const tries = seed > first ? ` in try ${seed - first + 1}` : "";
      console.log(`${title}; ${found.length} faults${tries}, as it must be, ${secondsSince(begin)} s`);
      return true;
    }
    for (const fault of faults) others.add(fault);
  }
  console.log(`${title}; nothing found, ${secondsSince(begin)} s`);
  console.error(`  FAULT ${title}: the checker does not find "${control.finds}" in ${CONTROL_TRIES} runs`);
  for (const fault of [...others].slice(0, SHOWN)) console.error(`    It finds: ${fault}`);
  return false;
}

async function resultOf(
  run: Experiment["run"],
  kind: StoreKind,
  { seed, folder }: { readonly seed: number; readonly folder: string },
): Promise<RunResult> {
  try {
    await using store = await kind.start(folder);
    return await run({ random: new Random(seed), store, folder });
  } catch (error) {
    const faults = [`the run did not come to its end: ${Deno.inspect(error)}`];
    return { summary: "broken off", faults, troubles: [] };
  }
}

function secondsSince(begin: number): string {
  return ((performance.now() - begin) / 1000).toFixed(1);
}
