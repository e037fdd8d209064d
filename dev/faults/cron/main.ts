// `deno task fault cron`: nodes that share a cron, faults, and a checker that compares what the nodes
// wrote down with the promises of crons.

import type { LogLine } from "../work/node.ts";
import { type Control, type Experiment, type RunContext, runExperiment, type RunResult } from "../work/command.ts";
import { disturbancesOf, type Setting } from "../work/disturb.ts";
import { Nodes, rest } from "../work/nodes.ts";
import { wallNow } from "../work/trouble.ts";
import { checkCron } from "./check.ts";
import { type CronLine, type CronPlan, type Flaw, HASTE, LEASE, MINUTE } from "./plan.ts";

/** How far the clock of a machine is set at most, in milliseconds: three minutes of crons. */
const CLOCK_RANGE = 3 * MINUTE;
/** How often it is looked for a node that runs something, in milliseconds. */
const SEARCH = 20;

const EXPERIMENT: Experiment = {
  name: "cron",
  run: (context) => {
    const { random, store } = context;
    const disturbances = disturbancesOf(store);
    return new Scene(context, () => undefined).run(async (stage) => {
      for (let count = 3 + random.below(3); count > 0; count--) {
        stage.tell(await random.pick(disturbances)(stage));
        await rest(MINUTE / 2 + random.below(MINUTE));
      }
      await rest(store.recovery);
    });
  },
  controls: [
    // All nodes live: what others run is run again by the broken one, some time later.
    control(
      "a node that shares no records",
      "and again by",
      (index) => index === 1 ? "lonely" : undefined,
      async () => {},
    ),
    control("nodes that take runs from others that live", "at once", () => "hasty"),
    control("nodes that begin nothing", "was not run", () => "idle"),
    control("nodes that look too seldom", "taken over too late", () => "slow"),
  ],
};

/** Runs the scenarios that the arguments name, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  return await runExperiment(EXPERIMENT, args, signal);
}

/** Some nodes are broken. */
function control(
  name: string,
  finds: string,
  flawOf: (index: number) => Flaw | undefined,
  disturb: (stage: Stage) => Promise<void> = killRunning,
): Control {
  return {
    ...{ name, finds, store: "file" },
    run: (context) =>
      new Scene(context, flawOf).run(async (stage) => {
        await rest(2 * MINUTE);
        await disturb(stage);
      }),
  };
}

/** Kills a node that runs something. */
async function killRunning({ nodes, findRunning }: Stage): Promise<void> {
  const node = await findRunning();
  if (node !== undefined) await nodes.kill(node);
}

/** What a run does to the nodes. */
interface Stage extends Setting {
  /** Waits for a node that runs something; undefined if there is none for a while. */
  findRunning(): Promise<string | undefined>;
  /** Notes what was done. */
  tell(injected: string): void;
}

/** One run. */
class Scene {
  readonly #context: RunContext;
  readonly #flawOf: (index: number) => Flaw | undefined;
  readonly #injected: string[] = [];

  /** Makes a run in which nodes, counted from 1, may have flaws. */
  constructor(context: RunContext, flawOf: (index: number) => Flaw | undefined) {
    this.#context = context;
    this.#flawOf = flawOf;
  }

  async run(disturb: (stage: Stage) => Promise<void>): Promise<RunResult> {
    const { random, store, folder } = this.#context;
    const origin = Math.floor(wallNow());
    const shared = { origin, seed: random.below(2 ** 31), catchUp: random.oneIn(2) };
    await using nodes = new Nodes<CronPlan>({
      ...{ store, folder, program: new URL("node.ts", import.meta.url) },
      planOf: (index) => ({ ...shared, flaw: this.#flawOf(index) }),
    });
    nodes.fill();
    await nodes.ready();
    // Servers that have just started need some time.
    await findRunning(nodes);
    const from = wallNow();
    await rest(MINUTE);
    await disturb({
      ...{ random, store, nodes, lease: LEASE, clockRange: CLOCK_RANGE },
      pickNode: async () => {
        const isAny = random.oneIn(3);
        return (isAny ? undefined : await findRunning(nodes)) ?? random.pick(nodes.names);
      },
      findRunning: () => findRunning(nodes),
      tell: (injected) => this.#injected.push(injected),
    });
    await rest(2 * MINUTE);
    const to = wallNow();
    await nodes.stopAll();
    const all = await nodes.lines();
    const lines = all.filter((line): line is CronLine => "scheduled" in line);
    const began = all.filter(({ kind }) => kind === "ready").map(({ node, time }): [string, number] => [node, time]);
    const troubles = await nodes.allTroubles();
    const faults = checkCron({ origin, precision: store.precision, from, to, lines, troubles, nodes: new Map(began) });
    const runs = lines.filter(({ kind }) => kind === "begin").length;
    const kind = `catchUp ${shared.catchUp ? "1h" : "none"}`;
    const summary = `${kind}; ${this.#injected.join(", ")}; ${minutesOf(to - from)} minutes, ${runs} runs`;
    return { faults, troubles, summary };
  }
}

async function findRunning(nodes: Nodes<CronPlan>): Promise<string | undefined> {
  for (const end = performance.now() + 2 * MINUTE; performance.now() < end; await rest(SEARCH)) {
    const lines = await nodes.lines<CronLine | LogLine>();
    const found = nodes.names.find((name) => lines.findLast(({ node }) => node === name)?.kind === "begin");
    if (found !== undefined) return found;
  }
  return undefined;
}

function minutesOf(ms: number): number {
  return Math.floor(ms * HASTE / 60_000);
}
