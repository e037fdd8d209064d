// `deno task fault consumers`: consumers on three nodes, faults, and a checker that compares what the
// nodes wrote down with the promises of consumers.

import { App, type DeadLetter, type Topic } from "../../../mod.ts";
import { Random } from "../../../tests/unit/support/random.ts";
import { type Control, type Experiment, type RunContext, runExperiment, type RunResult } from "../work/command.ts";
import { disturbancesOf, type Setting } from "../work/disturb.ts";
import { Nodes, rest } from "../work/nodes.ts";
import { checkConsumer } from "./check.ts";
import type { ConsumerPlan, Flaw, GivenUp, HandlerLine, Task } from "./plan.ts";

/** How long the nodes may take to come to the end after all faults, in milliseconds. */
const PATIENCE = 90_000;
/** How far the clock of a machine is set at most, in milliseconds. Retries wait for it. */
const CLOCK_RANGE = 10_000;
/** How long a control lasts, in milliseconds. */
const CONTROL_TIME = 6_000;

/** What is published: times are in milliseconds. */
interface Load {
  /** The time between two messages. */
  readonly pause: number;
  /** How long a long handler takes, and how many are long: one in so many. */
  readonly long: number;
  readonly longOneIn: number;
  /** How many handlers fail: one in so many. */
  readonly failsOneIn: number;
  /** How many keys there are. */
  readonly keys: number;
}

const LOAD: Load = { pause: 10, long: 800, longOneIn: 50, failsOneIn: 10, keys: 20 };
/** The loads with which a broken node is surely found. */
const LOADS: { readonly [Name in Flaw]?: Load } = {
  // Nodes are silent for longer than the lease of a hasty one, and messages of their keys wait.
  hasty: { pause: 300, long: 3_000, longOneIn: 1, failsOneIn: Infinity, keys: 4 },
  stubborn: { ...LOAD, failsOneIn: 2 },
};

/** The part of the plan that is equal for all nodes of a run. */
type SharedPlan = Pick<ConsumerPlan, "concurrency" | "lease" | "attempts" | "hasKeys">;

const EXPERIMENT: Experiment = {
  name: "consumers",
  run: (context) => {
    const { random } = context;
    const plan: SharedPlan = {
      ...{ concurrency: random.pick([1, 4, 16]), lease: random.pick([1_000, 2_000]) },
      ...{ attempts: random.pick([2, 3, 5]), hasKeys: random.oneIn(2) },
    };
    return new Scene(context, plan).run(async (setting) => {
      const disturbances = disturbancesOf(setting.store);
      for (let count = 3 + random.below(4); count > 0; count--) {
        await rest(300 + random.below(2_500));
        setting.tell(await random.pick(disturbances)(setting));
      }
    });
  },
  controls: [
    control("one node forgets messages", "forgetful", "was never handled"),
    control("one node takes messages from others that live", "hasty", "at once"),
    control("one node takes messages from others that live, with keys", "hasty", "key key"),
    control("one node tries more often", "stubborn", "was tried as try 3"),
    control("one node sends no dead letters", "mute", "was never handled, nor given up"),
  ],
};

/** Runs the scenarios that the arguments name, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  return await runExperiment(EXPERIMENT, args, signal);
}

/** Nobody disturbs the nodes, one of which is broken. */
function control(name: string, flaw: Flaw, finds: string): Control {
  // A node that lives renews its lease long after a hasty one takes over.
  const lease = flaw === "hasty" ? 30_000 : 2_000;
  const plan: SharedPlan = {
    concurrency: flaw === "hasty" ? 1 : 4,
    lease,
    attempts: 2,
    hasKeys: finds.startsWith("key"),
  };
  return { name, store: "file", finds, run: (context) => new Scene(context, plan, flaw).run(() => rest(CONTROL_TIME)) };
}

/** What a run does to the nodes. */
interface Stage extends Setting {
  /** Notes what was done. */
  tell(injected: string): void;
}

/** One run. */
class Scene {
  readonly #context: RunContext;
  readonly #plan: SharedPlan;
  readonly #flaw: Flaw | undefined;
  readonly #tasks: Task[] = [];
  readonly #injected: string[] = [];

  /** Makes a run in which the first node may have a flaw. */
  constructor(context: RunContext, plan: SharedPlan, flaw?: Flaw) {
    this.#context = context;
    this.#plan = plan;
    this.#flaw = flaw;
  }

  async run(disturb: (stage: Stage) => Promise<void>): Promise<RunResult> {
    const { random, store, folder } = this.#context;
    const { lease } = this.#plan;
    const app = new App({ topics: store.locate(store.ports) });
    const orders = app.topic<Task>("orders", { durable: true });
    const failed = app.topic<DeadLetter<Task>>("failed", { durable: true });
    await app.start();
    await using nodes = new Nodes<ConsumerPlan>({
      ...{ store, folder, program: new URL("node.ts", import.meta.url) },
      planOf: (index) => ({ ...this.#plan, flaw: index === 1 ? this.#flaw : undefined }),
    });
    nodes.fill();
    await nodes.ready();
    const isOver = { value: false };
    const publishing = this.#publish(orders, isOver);
    await disturb({
      ...{ random, store, nodes, lease, clockRange: CLOCK_RANGE },
      pickNode: async () => random.pick(nodes.names),
      tell: (injected) => this.#injected.push(injected),
    });
    isOver.value = true;
    await publishing;
    const faults = await this.#waitForEnd(app) ? [] : ["the nodes have not come to the end"];
    const givenUp = await readLetters(app, failed);
    const lost = (await reportOf(app)).lost;
    await app.stop();
    await nodes.stopAll();
    const lines = (await nodes.lines<HandlerLine>()).filter(({ number }) => number !== undefined);
    const troubles = await nodes.allTroubles();
    faults.push(...checkConsumer({ plan: this.#plan, tasks: this.#tasks, lines, givenUp, lost, troubles }));
    const handled = lines.filter(({ kind }) => kind === "begin").length;
    return { faults, troubles, summary: this.#summary(handled) };
  }

  async #waitForEnd(app: App): Promise<boolean> {
    const end = performance.now() + (this.#flaw ? CONTROL_TIME : PATIENCE);
    for (;; await rest(200)) {
      const { lag, position, head } = await reportOf(app);
      if (lag === 0 && position === head) return true;
      if (performance.now() > end) return false;
    }
  }

  async #publish(orders: Topic<Task>, isOver: { readonly value: boolean }): Promise<void> {
    // What goes wrong must not depend on how fast the store is.
    const random = new Random(this.#context.random.below(2 ** 31));
    const { pause, long, longOneIn, failsOneIn, keys } = (this.#flaw && LOADS[this.#flaw]) ?? LOAD;
    while (!isOver.value) {
      const task: Task = {
        number: this.#tasks.length,
        key: `key ${random.below(keys)}`,
        time: random.oneIn(longOneIn) ? long : random.below(40),
        plan: random.oneIn(failsOneIn) ? random.pick(["throws once", "throws once", "throws", "discards"]) : "works",
      };
      this.#tasks.push(task);
      // A publish whose outcome is unknown is made again under its id.
      while (!await orders.publish(task, { id: `${task.number}` }).then(() => true, () => false));
      await rest(random.below(pause));
    }
  }

  #summary(handled: number): string {
    const { concurrency, lease, hasKeys, attempts } = this.#plan;
    const kind = `${concurrency} at a time, lease ${lease} ms, ${attempts} tries${hasKeys ? ", keys" : ""}`;
    return `${kind}; ${this.#injected.join(", ")}; ${this.#tasks.length} messages, ${handled} handlers`;
  }
}

/** What operators see of the consumer. */
async function reportOf(app: App) {
  const { topics } = await app.reportTopics();
  const { head, consumers: [consumer] } = topics.find(({ name }) => name === "orders")!;
  return { head, ...consumer! };
}

async function readLetters(app: App, failed: Topic<DeadLetter<Task>>): Promise<GivenUp[]> {
  const { topics } = await app.reportTopics();
  const messages = topics.find(({ name }) => name === "failed")?.messages ?? 0;
  const givenUp: GivenUp[] = [];
  await using letters = failed.subscribe({ from: "earliest" });
  while (givenUp.length < messages) {
    const { value } = await letters.next();
    if (value && "data" in value) givenUp.push({ number: value.data.data!.number, attempts: value.data.attempts });
  }
  return givenUp;
}
