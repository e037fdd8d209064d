// `deno task fault`: durable topics on three nodes, faults, and a checker that compares the logs of
// all nodes with the promises of topics. It needs denokv and PostgreSQL.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, readNames, refuseUnknown, runCommand, select } from "../bench/command.ts";
import { Random } from "../../tests/unit/support/random.ts";
import { main as breakConsumers } from "./consumers/main.ts";
import { main as breakCrons } from "./cron/main.ts";
import { check, type History } from "./history.ts";
import { NotAllowedError } from "./not_allowed_error.ts";
import { NEGATIVE_CONTROLS, type Scenario, SCENARIOS } from "./scenarios.ts";
import { TAMPERINGS } from "./tampering.ts";
import { main as simulate } from "./simulation/main.ts";
import { type Outcome, Summary } from "./summary.ts";

const USAGE =
  `Breaks nodes and stores of durable topics, and checks what the nodes saw. "simulated" as the first argument simulates
nodes, network, database and time, with options of its own; "consumers" and "cron" break nodes that handle messages
or run at times.

Options:
  --seeds <n>      runs of each kind (default 1)
  --from <n>       the first seed (default 1), to go on where a run has ended
  --jobs <n>       runs at a time (default 2 for each processor; much of a run is waiting)
  --only <a,b>     kinds: ${SCENARIOS.map(({ name }) => name).join(", ")}
  --help           print this text

The environment variable FAULT_LOG=1 shows what the nodes log.`;

async function main(args: string[], signal: AbortSignal): Promise<number> {
  if (args[0] === "simulated") return await simulate(args.slice(1), signal);
  if (args[0] === "consumers") return await breakConsumers(args.slice(1), signal);
  if (args[0] === "cron") return await breakCrons(args.slice(1), signal);
  const parsed = parseArgs(args, {
    string: ["seeds", "from", "jobs", "only"],
    boolean: ["help"],
    unknown: refuseUnknown,
  });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const first = readCount(parsed.from ?? "1");
  const last = first + readCount(parsed.seeds ?? "1") - 1;
  const jobs = readCount(parsed.jobs ?? `${2 * navigator.hardwareConcurrency}`);
  const scenarios = select([...SCENARIOS], readNames(parsed.only));
  const summary = new Summary(scenarios.length * (last - first + 1));
  const tasks = tasksOf(scenarios, first, last);
  const work = async () => {
    for (const { scenario, seed } of tasks) {
      if (signal.aborted) break;
      console.log(`${scenario.name} seed ${seed}: begins`);
      summary.add(scenario, seed, await outcomeOf(scenario, seed));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  summary.print();
  signal.throwIfAborted();
  const kinds = new Set(scenarios.map(kindOf));
  let isClean = summary.isClean;
  for (const control of NEGATIVE_CONTROLS) {
    if (kinds.has(kindOf(control)) && !await controlIsFound(control, first)) isClean = false;
  }
  return isClean ? 0 : 1;
}

function* tasksOf(scenarios: readonly Scenario[], first: number, last: number): Generator<Task> {
  for (let seed = first; seed <= last; seed++) {
    for (const scenario of scenarios) yield { scenario, seed };
  }
}

/** A run. */
interface Task {
  readonly scenario: Scenario;
  readonly seed: number;
}

/**
 * Runs a scenario. Reports it if the system does not allow the scenario, or if it cannot be ended.
 */
async function outcomeOf(scenario: Scenario, seed: number): Promise<Outcome> {
  try {
    return await hasFaults(scenario, seed) ? "faulty" : "clean";
  } catch (error) {
    const name = `${scenario.name.padEnd(16)} seed ${seed}`;
    if (error instanceof NotAllowedError) {
      console.log(`${name}: SKIPPED, ${error.message}`);
      return "skipped";
    }
    console.error(`${name}: FAULT the run did not come to its end:`, error);
    return "faulty";
  }
}

/**
 * Runs a scenario and checks its history. Then changes the history in wrong ways, and checks that
 * the checker finds each.
 */
async function hasFaults(scenario: Scenario, seed: number): Promise<boolean> {
  const random = new Random(seed);
  const injected: string[] = [];
  const begin = performance.now();
  const history = await scenario.run(random, (text) => injected.push(text));
  const { faults, acknowledged, reads, gaps, unknown } = check(history);
  const missed = faults.length === 0 && history.keeps === Infinity ? missedTamperings(history, random) : [];
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  console.log(
    `${scenario.name.padEnd(16)} seed ${seed}: ${
      injected.join(", ")
    }; ${acknowledged} acknowledged, ${unknown} unknown, ` +
      `${reads} read, ${gaps} gaps, ${faults.length} faults, ${seconds} s`,
  );
  for (const fault of faults.slice(0, 10)) console.error(`  FAULT ${fault}`);
  for (const tampering of missed) console.error(`  FAULT the checker does not notice that ${tampering}`);
  return faults.length + missed.length > 0;
}

function missedTamperings(history: History, random: Random): string[] {
  return Object.entries(TAMPERINGS).filter(([, tamper]) => {
    const tampered = tamper(history, random);
    return tampered !== undefined && check(tampered).faults.length === 0;
  }).map(([name]) => name);
}

/** The store of a scenario. */
function kindOf({ name }: Scenario): string {
  return /^(?:postgres|sqlite)(?=-)/.exec(name)?.[0] ?? "kv";
}

/**
 * Runs without the checks of writes. That a message is stored twice depends on the moment, so it is
 * tried some times.
 */
async function controlIsFound({ name, run }: Scenario, seed: number): Promise<boolean> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const injected: string[] = [];
    const history = await run(new Random(seed + attempt), (text) => injected.push(text));
    const { faults } = check(history);
    console.log(
      `${name.padEnd(16)} seed ${seed + attempt}: no checks, ${
        injected.join(", ")
      }; ${faults.length} faults, as it must be`,
    );
    if (faults.some((fault) => fault.includes("is there twice"))) return true;
  }
  console.error(`  FAULT ${name}: the checker finds nothing where writes check nothing`);
  return false;
}

if (import.meta.main) await runCommand(main);
