// A run of a consumer on simulated nodes, in virtual time.

import { consumerKey, type ConsumerState, decodeState, failureKey } from "../../../../src/work/consumers/record.ts";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import type { LogRef, TopicStore } from "../../../../src/store/topic_store.ts";
import type { Random } from "../../../../tests/unit/support/random.ts";
import { inVirtualTime } from "../virtual_time.ts";
import { Journal, type Task } from "./journal.ts";
import { type Faults, type Shared, SimulatedConsumer } from "./node.ts";

/** How a run is made. */
export interface ConsumerSimulationOptions {
  /** For a negative control: one node takes over from others that live. */
  readonly isHasty?: boolean;
}

/** What a run gives. */
export interface ConsumerRun {
  readonly faults: readonly string[];
  readonly messages: number;
  readonly handled: number;
  readonly injected: Readonly<Record<string, number>>;
}

const LOG: LogRef = { name: "orders", policy: { age: Infinity, count: 1e6, bytes: 1e9, dedupe: 60_000 } };
/** The lease of a node that takes over too early, in milliseconds. */
const HASTY_LEASE = 2_000;
/** How long the consumer may take to come to the end after all is calm, in milliseconds. */
const LONGEST = 3 * 60 * 60 * 1000;

/** Runs and checks a simulation. Nothing else may run in this process. */
export function simulateConsumer(random: Random, options: ConsumerSimulationOptions = {}): Promise<ConsumerRun> {
  return inVirtualTime(random, () => new Simulation(random, options).run());
}

class Simulation {
  readonly #random: Random;
  readonly #store: TopicStore = new MemoryStore();
  readonly #shared: Shared;
  readonly #nodes = new Map<string, SimulatedConsumer>();
  readonly #tasks: Task[] = [];
  readonly #injected: Record<string, number> = {};
  readonly #isHasty: boolean;
  #starts = 0;

  constructor(random: Random, { isHasty = false }: ConsumerSimulationOptions) {
    this.#random = random;
    this.#isHasty = isHasty;
    const hasKeys = random.oneIn(2);
    const attempts = random.pick([1, 2, 3, 5]);
    const lease = isHasty ? 30_000 : random.pick([1_000, 2_000, 30_000]);
    const rate = random.oneIn(3) ? { limit: random.pick([5, 20, 100]), per: random.pick([1_000, 10_000]) } : undefined;
    this.#shared = {
      store: this.#store,
      log: LOG,
      hasDeadLetter: random.oneIn(2),
      faults: this.#drawFaults(),
      random,
      journal: new Journal({ attempts, hasKeys, lease, rate }),
      outage: 0,
      options: {
        concurrency: random.pick([1, 2, 4, 16, 64]),
        attempts,
        backoff: random.pick([50, 1_000, 10_000]),
        deadLetter: undefined,
        lease,
        timeout: 300_000,
        from: "earliest",
        key: hasKeys ? (message) => (message.data as Task).key : undefined,
        batch: random.oneIn(2)
          ? {
            size: Math.min(random.pick([1, 2, 10, 100]), rate?.limit ?? Infinity),
            wait: random.pick([1, 50, 1_000, 10_000]),
          }
          : undefined,
        rate,
      },
    };
  }

  async run(): Promise<ConsumerRun> {
    const { journal } = this.#shared;
    const below = (bound: number) => this.#random.below(bound);
    const wanted = 50 + below(400);
    for (let index = this.#isHasty ? 3 : 1 + below(3); index > 0; index--) this.#startNode();
    const isCalm = this.#isHasty || this.#random.oneIn(5);
    while (this.#tasks.length < wanted) {
      await this.#publish(1 + below(this.#random.pick([2, 100])));
      await rest(below(this.#random.pick([20, 1_000, 5_000])));
      if (!isCalm && this.#random.oneIn(3)) this.#disturb();
    }
    const calm = { latency: 5, lost: Infinity, unanswered: Infinity };
    Object.assign(this.#shared, { faults: calm, outage: 0 });
    if (this.#nodes.size === 0) this.#startNode();
    const end = Date.now() + LONGEST;
    while (!await this.#isOver() && Date.now() < end) await rest(1_000);
    journal.finish(this.#tasks.map(({ number }) => number));
    await this.#checkRecord();
    await Promise.all(Array.from(this.#nodes.values(), (node) => node.stop(0)));
    return {
      faults: journal.faults,
      messages: this.#tasks.length,
      handled: journal.handled,
      injected: this.#injected,
    };
  }

  #drawFaults(): Faults {
    const random = this.#random;
    const latency = random.pick([2, 10, 80]);
    if (random.oneIn(3)) return { latency, lost: Infinity, unanswered: Infinity };
    return { latency, lost: random.pick([20, 200]), unanswered: random.pick([10, 100]) };
  }

  async #publish(count: number): Promise<void> {
    const random = this.#random;
    const keys = random.pick([1, 5, 50]);
    for (; count > 0; count--) {
      const task: Task = {
        number: this.#tasks.length,
        key: `key ${random.below(keys)}`,
        time: random.below(random.pick([2, 40, 40, 3_000])),
        plan: random.pick(["works", "works", "works", "obedient", "obedient", "throws once", "throws", "discards"]),
      };
      this.#tasks.push(task);
      this.#shared.journal.published(task);
      const data = JSON.stringify(task);
      const id = `${task.number}`;
      await this.#store.append(LOG, [{ id, isGenerated: false, type: undefined, data, bytes: data.length }]);
    }
  }

  #disturb(): void {
    const random = this.#random;
    const [node] = [random.pick([...this.#nodes.values()])];
    const lease = this.#shared.options.lease;
    switch (random.below(6)) {
      case 0:
        if (this.#nodes.size < 4) this.#startNode();
        return;
      case 1:
        if (!node) return;
        this.#note("killed");
        node.kill();
        this.#nodes.delete(node.name);
        return random.oneIn(2) ? this.#startNode() : undefined;
      case 2:
        if (!node) return;
        this.#note("frozen");
        return node.freeze(random.below(3 * lease));
      case 3:
        if (!node) return;
        this.#note("stopped");
        this.#nodes.delete(node.name);
        void node.stop(random.below(3_000));
        return this.#startNode();
      case 4:
        this.#note("outage");
        this.#shared.outage = Date.now() + random.below(2 * lease);
        return;
      case 5:
        if (!node) return;
        this.#note("clock set");
        node.skew = random.below(7_200_000) - 3_600_000;
        return;
    }
  }

  #startNode(): void {
    const { options } = this.#shared;
    const lease = this.#isHasty && this.#starts % 2 === 1 ? HASTY_LEASE : options.lease;
    const shared = Object.create(this.#shared, { options: { value: { ...options, lease } } });
    const node = new SimulatedConsumer(`node ${++this.#starts}`, shared);
    this.#nodes.set(node.name, node);
    node.start();
  }

  async #state(): Promise<ConsumerState | undefined> {
    const record = await (await this.#store.openRecords!()).get(consumerKey({ topic: LOG.name, name: "mail" }));
    return record ? decodeState(record.value) : undefined;
  }

  async #isOver(): Promise<boolean> {
    const state = await this.#state();
    const { highWatermark } = await this.#store.bounds(LOG);
    return state?.next === highWatermark && state.ranges.length + state.pending.length + state.pages.length === 0;
  }

  /** Nothing may be left in the record, and all that was given up must be kept, or was sent. */
  async #checkRecord(): Promise<void> {
    const { journal, hasDeadLetter } = this.#shared;
    const state = await this.#state();
    if (!await this.#isOver()) journal.faults.push(`it has not come to its end: ${JSON.stringify(state)}`);
    if (state!.lost > 0) journal.faults.push(`it lost ${state!.lost}`);
    const records = await this.#store.openRecords!();
    const failures = await Array.fromAsync(records.list(failureKey({ topic: LOG.name, name: "mail" })));
    if (failures.length > 0 && hasDeadLetter) journal.faults.push("it kept what it sent as dead letters");
  }

  #note(what: string): void {
    this.#injected[what] = (this.#injected[what] ?? 0) + 1;
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
