// Section 3 of the contract of work, while nodes die and freeze, and the store is away or loses answers.

import { assert, assertEquals } from "@std/assert";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { Nodes, type TestNode } from "./cron_nodes.ts";

const SEEDS = Number(Deno.env.get("CRON_SEEDS") ?? 3);
const MINUTE = 60_000;

/** Numbers from 0 to 1 that a seed decides (xorshift). */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761 >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

interface SeenWork {
  readonly node: TestNode;
  readonly signal: AbortSignal;
}

/** Two hours of a cron of each minute on three nodes. */
class Simulation {
  readonly #random: () => number;
  readonly #nodes = new Nodes("2026-01-01T00:00:30Z", "* * * * *");
  readonly #living = new Set<TestNode>();
  readonly #frozen = new Set<TestNode>();
  readonly #working = new Set<SeenWork>();
  /** When something happened to a node or the store. */
  readonly #disturbed: number[] = [];

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  async run(log: CapturedLog): Promise<void> {
    const { clock } = this.#nodes;
    const begin = clock.time();
    for (let count = 0; count < 3; count++) await this.#startNode();
    while (clock.time() < begin + 120 * MINUTE) {
      await clock.advance(this.#between(1_000, this.#random() < 0.5 ? MINUTE : 15 * MINUTE));
      await this.#disturb();
    }
    await this.#heal();
    const end = clock.time();
    await clock.advance(10 * MINUTE);
    this.#check(log.text, begin + MINUTE, end);
    await this.#nodes.stop();
  }

  #between(least: number, most: number): number {
    return Math.floor(least + this.#random() * (most - least));
  }

  async #startNode(): Promise<void> {
    this.#living.add(await this.#nodes.start((run, node) => this.#work(run.signal, node)));
  }

  async #work(signal: AbortSignal, node: TestNode): Promise<void> {
    const others = [...this.#working].filter((work) => !work.signal.aborted && this.#canAct(work.node));
    assertEquals(others.map(({ node }) => node.name), [], `${node.name} has a run of another living node`);
    const work = { node, signal };
    this.#working.add(work);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    node.after(this.#random() < 0.8 ? this.#between(10, 20_000) : this.#between(20_000, 200_000), resolve);
    signal.addEventListener("abort", () => reject(signal.reason));
    try {
      await promise;
    } finally {
      this.#working.delete(work);
    }
  }

  #canAct(node: TestNode): boolean {
    return this.#living.has(node) && !this.#frozen.has(node);
  }

  async #disturb(): Promise<void> {
    const { clock } = this.#nodes;
    this.#disturbed.push(clock.time());
    const living = [...this.#living];
    const node = living[this.#between(0, living.length)]!;
    const kind = this.#between(0, 5);
    if (kind === 0) {
      node.freeze();
      this.#living.delete(node);
      await this.#startNode();
    } else if (kind === 1) {
      node.freeze();
      this.#frozen.add(node);
      await clock.advance(this.#between(100, 100_000));
      this.#frozen.delete(node);
      node.thaw();
    } else if (kind === 2) {
      node.store.lostAnswers = this.#between(1, 4);
    } else if (kind === 3) {
      node.store.failures = Infinity;
      await clock.advance(this.#between(100, 100_000));
      node.store.failures = 0;
    } else {
      for (const { store } of living) store.failures = Infinity;
      await clock.advance(this.#between(100, 100_000));
      for (const { store } of living) store.failures = 0;
    }
    this.#disturbed.push(clock.time());
  }

  async #heal(): Promise<void> {
    for (const { store } of this.#living) store.failures = store.lostAnswers = 0;
    await this.#nodes.clock.advance(MINUTE);
  }

  /** Each time has run or was skipped, unless something happened shortly before or after it. */
  #check(log: string, from: number, to: number): void {
    const times = new Set(this.#nodes.times);
    for (const [, skipped] of log.matchAll(/skips a time[^\n]* scheduled=(\S+)/g)) times.add(skipped!);
    for (let time = from - from % MINUTE; time < to; time += MINUTE) {
      if (this.#disturbed.some((at) => at > time - 5 * MINUTE && at < time + 2 * MINUTE)) continue;
      assert(times.has(new Date(time).toISOString()), `${new Date(time).toISOString()} has not run`);
    }
    assert(times.size > 60, `${times.size} times`);
  }
}

for (let seed = 1; seed <= SEEDS; seed++) {
  Deno.test(`each time runs on one node, whatever happens to nodes and store: seed ${seed}`, async () => {
    using log = new CapturedLog();
    await new Simulation(seed).run(log);
    assert(!log.text.includes("A cron failed"), log.lines.find((line) => line.includes("A cron failed")));
  });
}
