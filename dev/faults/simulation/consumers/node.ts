// A node in the process of the simulation: a consumer whose store is far away, and which may end or
// stand still at any moment.

import { stopReason } from "../../../../src/base/service.ts";
import { Consumer } from "../../../../src/work/consumers/consumer.ts";
import type { Clock } from "../../../../src/base/clock.ts";
import { failureKey } from "../../../../src/work/consumers/record.ts";
import type { RecordKey, RecordStore, SetRecordOptions } from "../../../../src/store/record_store.ts";
import { Discard, type ResolvedConsumeOptions } from "../../../../src/topics/consume_options.ts";
import type { TopicMessage } from "../../../../src/topics/message.ts";
import { toPosition } from "../../../../src/topics/message.ts";
import type { LogRef, TopicStore } from "../../../../src/store/topic_store.ts";
import type { Random } from "../../../../tests/unit/support/random.ts";
import type { Journal, Task } from "./journal.ts";

/** What goes wrong between nodes and their store. One in so many requests; `Infinity` for never. */
export interface Faults {
  /** The longest time of a request or an answer, in milliseconds. */
  readonly latency: number;
  /** A request is lost, or comes after its node has given up. */
  readonly lost: number;
  /** An answer is lost. The store repeats the request, or gives up. */
  readonly unanswered: number;
}

/** What all nodes of a run share. */
export interface Shared {
  readonly store: TopicStore;
  readonly log: LogRef;
  readonly options: ResolvedConsumeOptions;
  readonly hasDeadLetter: boolean;
  readonly faults: Faults;
  readonly random: Random;
  readonly journal: Journal;
  /** Until when the store does not answer, in milliseconds since 1970. */
  outage: number;
}

/** After how many milliseconds a request without an answer fails. */
const GIVE_UP = 1_500;

const [FAILED] = failureKey({ topic: "", name: "" });

/** The number of a message by its id. In memory, positions are numbers, which begin at 1. */
function numberOf(id: string): number {
  return Number.parseInt(toPosition(id).cursor, 16) - 1;
}

/** One node, from its start to its end. */
export class SimulatedConsumer {
  readonly name: string;
  /** How far its wall clock is ahead, in milliseconds. */
  skew = 0;
  isDead = false;
  /** When it stood still the last time, and until when. */
  frozen: { readonly from: number; readonly to: number } = { from: -Infinity, to: -Infinity };
  readonly #shared: Shared;
  readonly #consumer: Consumer;

  constructor(name: string, shared: Shared) {
    this.name = name;
    this.#shared = shared;
    const { log, options, hasDeadLetter, journal } = shared;
    this.#consumer = new Consumer({
      name: "mail",
      log,
      options,
      store: this.#farStore(),
      records: this.#farRecords(),
      clock: this.#clock(),
      deadLetter: hasDeadLetter
        ? {
          name: "failed",
          maxBytes: 1000,
          publish: async (letter) => {
            await this.#call(async () => journal.note({ kind: "given up", number: (letter.data as Task).number }));
          },
        }
        : undefined,
      handle: (messages, { attempt, signal }) => this.#handleAll(messages, attempt, signal),
    });
  }

  start(): void {
    void this.#consumer.start();
  }

  /** Ends it without a word. */
  kill(): void {
    this.isDead = true;
    this.#shared.journal.note({ kind: "killed", node: this.name });
  }

  /** Lets it stand still. */
  freeze(ms: number): void {
    this.frozen = { from: Date.now(), to: Date.now() + ms };
    this.#shared.journal.note({ kind: "frozen", node: this.name, ms });
  }

  /** Ends it as an application does. */
  async stop(grace: number): Promise<void> {
    this.#consumer.drain();
    const timer = setTimeout(() => this.#consumer.abort(stopReason()), grace);
    await this.#consumer.close();
    clearTimeout(timer);
    this.isDead = true;
    this.#shared.journal.note({ kind: "stopped", node: this.name });
  }

  /** One message, or those of a batch: in parallel or, if they have a key, in order. */
  async #handleAll(messages: readonly TopicMessage[], attempt: number, signal: AbortSignal): Promise<string[]> {
    const { key } = this.#shared.options;
    this.#shared.journal.give(messages.length);
    const failed: string[] = [];
    const handle = async ({ id, data }: TopicMessage) => {
      // Those after it would come before it.
      if (key && failed.length > 0) return void failed.push(id);
      signal.throwIfAborted();
      try {
        await this.#handle(data as Task, attempt, signal);
      } catch (error) {
        if (messages.length === 1 || signal.aborted) throw error;
        failed.push(id);
      }
    };
    if (key) { for (const message of messages) await handle(message); }
    else {
      // The handler ends when all of them have ended.
      const [rejected] = (await Promise.allSettled(messages.map(handle))).filter(({ status }) => status === "rejected");
      if (rejected) throw (rejected as PromiseRejectedResult).reason;
    }
    return failed;
  }

  async #handle(task: Task, attempt: number, signal: AbortSignal): Promise<void> {
    const { journal } = this.#shared;
    const { number, key } = task;
    const run = journal.begin({ node: this.name, number, key, attempt });
    signal.addEventListener("abort", () => run.isAborted = true);
    const { time, plan } = task;
    try {
      if (plan === "obedient") await this.#restOrAbort(time, signal);
      else await this.#rest(time);
      if (plan === "throws" || (plan === "throws once" && attempt === 1)) throw new Error("As it was planned");
      if (plan === "discards") throw new Discard("never");
      if (!this.isDead) run.end("done");
    } catch (error) {
      if (!this.isDead) run.end(signal.aborted ? "aborted" : "failed");
      throw error;
    }
  }

  #clock(): Clock {
    return {
      now: () => performance.now(),
      wall: () => Date.now() + this.skew,
      after: (ms, action) => {
        const timer = setTimeout(() => void this.#awake().then(() => isCancelled || action()), ms);
        let isCancelled = false;
        return () => {
          isCancelled = true;
          clearTimeout(timer);
        };
      },
    };
  }

  #farStore(): TopicStore {
    const { store } = this.#shared;
    return {
      capabilities: { ...store.capabilities, durability: "disk" },
      bounds: (log) => this.#call(() => store.bounds(log)),
      append: (log, messages, options) => this.#call(() => store.append(log, messages, options)),
      read: (log, after, limits) => this.#call(() => store.read(log, after, limits)),
      seek: (log, time) => this.#call(() => store.seek(log, time)),
      watch: (log, onChange) =>
        store.watch(log, () => {
          void this.#rest(this.#shared.random.below(1_000)).then(onChange);
        }),
      now: () => Date.now(),
      close: async () => {},
    };
  }

  #farRecords(): RecordStore {
    const inner = () => this.#shared.store.openRecords!();
    return {
      get: (key) => this.#call(async () => (await inner()).get(key)),
      set: (key, value, write) => this.#set(key, value, write, inner),
      delete: (key, deletion) => this.#call(async () => (await inner()).delete(key, deletion)),
      list: (prefix) => this.#list(prefix, inner),
    };
  }

  async *#list(prefix: RecordKey, inner: () => Promise<RecordStore>): ReturnType<RecordStore["list"]> {
    yield* await this.#call(async () => await Array.fromAsync((await inner()).list(prefix)));
  }

  async #set(key: RecordKey, value: string, options: SetRecordOptions<number>, inner: () => Promise<RecordStore>) {
    const { random, faults, journal } = this.#shared;
    const set = async () => {
      const version = await (await inner()).set(key, value, options);
      if (key[0] === FAILED) journal.note({ kind: "given up", number: numberOf(key.at(-1)!) });
      return version;
    };
    if (faults.unanswered === Infinity || !random.oneIn(faults.unanswered)) return await this.#call(set);
    await this.#call(set);
    // Its answer was lost: a repetition is refused, or the outcome is unknown.
    if (random.oneIn(2)) return await this.#call(set);
    await this.#rest(GIVE_UP);
    throw new Error("No answer");
  }

  /** Sends a request to the store. */
  async #call<Result>(action: () => Promise<Result>): Promise<Result> {
    const { random, faults } = this.#shared;
    const { journal } = this.#shared;
    await this.#rest(random.below(faults.latency + 1));
    if (Date.now() < this.#shared.outage) {
      journal.unsaid++;
      await this.#rest(GIVE_UP);
      throw new Error("The store is away");
    }
    if (faults.lost < Infinity && random.oneIn(faults.lost)) {
      journal.unsaid++;
      // It may be carried out after its caller has stopped waiting.
      if (random.oneIn(2)) setTimeout(() => void action().catch(() => {}), random.below(3 * GIVE_UP));
      await this.#rest(GIVE_UP);
      throw new Error("The request was lost");
    }
    const result = await action();
    await this.#rest(random.below(faults.latency + 1));
    return result;
  }

  async #rest(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, ms));
    await this.#awake();
  }

  async #restOrAbort(ms: number, signal: AbortSignal): Promise<void> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    await Promise.race([this.#rest(ms), aborted]);
  }

  /** Waits while it stands still; for ever if it has ended. */
  async #awake(): Promise<void> {
    while (!this.isDead && Date.now() < this.frozen.to) {
      await new Promise((resolve) => setTimeout(resolve, this.frozen.to - Date.now()));
    }
    if (this.isDead) await new Promise<never>(() => {});
  }
}
