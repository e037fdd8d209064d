// A node in the process of the simulation: an application whose store is at the other end of the network.

import { App, type Topic } from "../../mod.ts";
import { KvStore } from "../../src/topics/kv/kv_store.ts";
import type { LogEntry, Payload } from "../log_entry.ts";
import { type UsedTopic, work, type WorkPlan } from "../work.ts";
import type { Draw } from "./draw.ts";
import type { Client, Network } from "./network.ts";

/** How often a node looks whether others have written, in milliseconds. */
const INTERVAL = 1_000;

/** One life of a node. */
export class SimulatedNode implements Client {
  isDead = false;
  /** What it has written down. */
  readonly entries: LogEntry[] = [];
  readonly topic: Topic<Payload>;
  readonly #app: App;
  readonly #plan: WorkPlan;
  readonly #ending = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(readonly name: string, readonly life: number, { options, work, skew }: Draw, network: Network) {
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
    this.#plan = { ...work, name, life };
    this.#app = new App({ topics: store });
    this.topic = this.#app.topic("orders", options);
  }

  /** Begins its work. Rejects when that fails, unless it was killed. */
  async begin(before: readonly LogEntry[], topic: UsedTopic, note: (entry: LogEntry) => void): Promise<void> {
    const noteAlive = (entry: LogEntry) => {
      if (this.isDead) return;
      this.entries.push(entry);
      note(entry);
    };
    const warn = () => {};
    this.#working = work({ plan: this.#plan, topic, before, note: noteAlive, warn, signal: this.#ending.signal });
    await this.#working.catch((error) => {
      if (!this.isDead) throw error;
    });
  }

  /** Ends its readers, and then itself. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#working;
    await this.#app.stop();
  }

  /** Ends it in the middle of what it does. */
  kill(): void {
    this.isDead = true;
    this.#ending.abort();
    // Its timers must not go on for ever.
    this.#app.stop().catch(() => {});
  }
}
