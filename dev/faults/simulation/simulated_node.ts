// A node in the process of the simulation: an application whose store is at the other end of the
// simulated network.

import { App, type Topic } from "../../../mod.ts";
import { KvStore } from "../../../src/store/kv/kv_store.ts";
import { toPosition } from "../../../src/topics/message.ts";
import { LOG_START } from "../../../src/store/topic_store.ts";
import type { LogEntry, Payload } from "../node_log.ts";
import { runWorkload, type UsedTopic, type WorkloadPlan } from "../workload.ts";
import type { RunConfig } from "./run_config.ts";
import type { Client, Network } from "./network.ts";

/** How often a node looks whether others have written, in milliseconds. */
const INTERVAL = 1_000;

/** The name of the topic that is checked. */
export const TOPIC = "orders";

/** The retention of the other topics. */
const ELSEWHERE = { durable: true, retention: { count: 5 } } as const;

/** One generation of a node: from a start to its end or death. */
export class SimulatedNode implements Client {
  isDead = false;
  /** Its log. */
  readonly entries: LogEntry[] = [];
  readonly topic: Topic<Payload>;
  readonly #app: App;
  /** The other topics, with the last message that was read of each. */
  readonly #others: readonly { readonly topic: Topic<number>; newest: string }[];
  readonly #plan: WorkloadPlan;
  readonly #ending = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(
    readonly name: string,
    readonly generation: number,
    { options, work, skew, others }: RunConfig,
    network: Network,
  ) {
    const open = (signal: AbortSignal) => network.connect(this, signal);
    const ahead = skew();
    const store = new KvStore({
      name: "simulated",
      interval: INTERVAL,
      now: () => Date.now() + ahead,
      open,
      openWatching: open,
      isLogged: false,
    });
    this.#plan = { ...work, name, generation };
    this.#app = new App({ topics: store });
    this.topic = this.#app.topic(TOPIC, options);
    this.#others = Array.from({ length: others }, (_, index) => {
      return { topic: this.#app.topic<number>(`other ${index}`, ELSEWHERE), newest: "" };
    });
  }

  /** Begins its work. Rejects when that fails, unless it was killed. */
  async begin(before: readonly LogEntry[], topic: UsedTopic, note: (entry: LogEntry) => void): Promise<void> {
    const noteAlive = (entry: LogEntry) => {
      if (this.isDead) return;
      this.entries.push(entry);
      note(entry);
    };
    const warn = () => {};
    const working = runWorkload({
      plan: this.#plan,
      topic,
      before,
      note: noteAlive,
      warn,
      signal: this.#ending.signal,
    });
    const following = this.#others.map((_, index) => this.#follow(index));
    this.#working = Promise.all([working, ...following]).then(() => {});
    await this.#working.catch((error) => {
      if (!this.isDead) throw error;
    });
  }

  /** Publishes to one of the other topics, whatever becomes of it. */
  publishElsewhere(index: number): void {
    this.#others[index]!.topic.publish(index).catch(() => {});
  }

  /** Whether it has reached the ends of the other topics. */
  async hasReadOthers(): Promise<boolean> {
    const read = await Promise.all(this.#others.map(async ({ topic, newest }) => {
      const head = await topic.head();
      return head === newest || toPosition(head).cursor === LOG_START;
    }));
    return read.every(Boolean);
  }

  async #follow(index: number): Promise<void> {
    const other = this.#others[index]!;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        for await (const entry of other.topic.subscribe({ from: "earliest", signal })) {
          if ("id" in entry) other.newest = entry.id;
        }
      } catch {
        // The store was away for longer than the topic waits.
      }
    }
  }

  /** Ends its readers, and then itself. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#working;
    await this.#app.stop();
  }

  /** Ends the node without a warning. */
  kill(): void {
    this.isDead = true;
    this.#ending.abort();
    // Its timers must not go on for ever.
    this.#app.stop().catch(() => {});
  }
}
