/** Consumers of several nodes that share a store, in virtual time. */
import { inVirtualTime } from "../../../../dev/faults/simulation/virtual_time.ts";
import { SYSTEM_CLOCK } from "../../../../src/base/clock.ts";
import { Consumer, type ConsumerSetup } from "../../../../src/work/consumers/consumer.ts";
import { consumerKey, type ConsumerState, decodeState, failureKey } from "../../../../src/work/consumers/record.ts";
import type { RecordKey, RecordStore } from "../../../../src/store/record_store.ts";
import type { ConsumerTry, FailedMessage, ResolvedConsumeOptions } from "../../../../src/topics/consume_options.ts";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import type { Cursor, LogPage, LogRef, TopicStore } from "../../../../src/store/topic_store.ts";
import { Random } from "../../support/random.ts";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
// Loaded before time is counted.
import "../../../../src/work/consumers/consumers.ts";
import "../../../../src/store/memory/memory_records.ts";

export const LOG: LogRef = { name: "orders", policy: { age: Infinity, count: 1e6, bytes: 1e9, dedupe: 1 } };
export const NAME: { topic: string; name: string } = { topic: "orders", name: "mail" };
export const OPTIONS: ResolvedConsumeOptions = {
  ...{ concurrency: 4, attempts: 3, backoff: 1_000, lease: 10_000, timeout: 300_000, from: "earliest" },
  ...{ deadLetter: undefined, key: undefined, batch: undefined, rate: undefined },
};

/** Throws when somebody uses a store that is away. */
export class Switch {
  isAway = false;
  /** How long each answer takes, in milliseconds. */
  delay = 0;
  /** How many messages were read. */
  read = 0;
  /** Whether the next write is made and its answer is lost; the read after it does not know of it. */
  losesAnswer = false;
  #old: unknown;
  /** The newest message that the server has which answers; undefined if it has all. */
  newest: Cursor | undefined;

  /** A store in front of another one: calls fail while it is away, and never end if it is dead. */
  guard<Store extends object>(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "watch" || name === "list") return value.bind(target);
        return async (...args: unknown[]) => {
          if (this.isAway) {
            await rest(100);
            throw new Error("The store is away");
          }
          if (name === "set" && this.losesAnswer) {
            this.losesAnswer = false;
            this.#old = await (store as unknown as RecordStore).get(args[0] as RecordKey);
            await value.apply(target, args);
            throw new Error("The answer is lost");
          }
          const result = this.#old !== undefined && name === "get" ? this.#old : await value.apply(target, args);
          this.#old = undefined;
          if (name === "read") {
            this.read += result.messages.length;
            if (this.newest !== undefined) return withoutLater(result, this.newest);
          }
          if (this.delay > 0) await rest(this.delay);
          return name === "openRecords" ? this.guard(result) : result;
        };
      },
    });
  }
}

/** A page of a server that has not got what came after a message. */
function withoutLater(page: LogPage, newest: Cursor): LogPage {
  return { ...page, highWatermark: newest, messages: page.messages.filter(({ cursor }) => cursor <= newest) };
}

/** How a node differs from the others. */
export interface NodeOptions extends Partial<ResolvedConsumeOptions> {
  readonly connection?: Switch;
  /** Where its dead letters go. */
  readonly letters?: ConsumerSetup["deadLetter"];
}

/** Nodes that share a store, in virtual time. */
export class Setting {
  store: TopicStore = new MemoryStore();
  log = LOG;
  readonly begin = Date.now();
  #sent = 0;

  /** How long it has been going on, in milliseconds. */
  get time(): number {
    return Date.now() - this.begin;
  }

  async records(): Promise<RecordStore> {
    return await this.store.openRecords!();
  }

  async publish(...data: unknown[]): Promise<void> {
    const messages = data.map((one) => {
      const json = JSON.stringify(one);
      return { id: `${this.#sent++}`, isGenerated: false, type: undefined, data: json, bytes: json.length };
    });
    await this.store.append(this.log, messages);
  }

  async node(
    handle: (data: unknown, context: ConsumerTry) => unknown,
    options: NodeOptions = {},
  ): Promise<Consumer> {
    return await this.#start(async ([message], context) => {
      await handle(message!.data, context);
      return [];
    }, options);
  }

  /** A node whose handler gets batches. What it returns are the data of the messages that failed. */
  async batchNode(
    handle: (data: readonly unknown[], context: ConsumerTry) => unknown,
    options: NodeOptions = {},
  ): Promise<Consumer> {
    return await this.#start(async (messages, context) => {
      const failed = await handle(messages.map(({ data }) => data), context);
      if (!Array.isArray(failed)) return [];
      return messages.flatMap(({ id, data }): FailedMessage[] => {
        if (failed.includes(data)) return [id];
        return failed.filter((entry) => entry?.id === data).map(({ error }) => ({ id, error }));
      });
    }, options);
  }

  async #start(
    handle: ConsumerSetup["handle"],
    { connection = new Switch(), letters, ...options }: NodeOptions,
  ): Promise<Consumer> {
    const consumer = new Consumer({
      name: NAME.name,
      log: this.log,
      store: connection.guard(this.store),
      records: connection.guard(await this.records()),
      options: { ...OPTIONS, ...options },
      handle,
      deadLetter: letters,
      clock: SYSTEM_CLOCK,
    });
    await consumer.start();
    return consumer;
  }

  /** Notes from now on when the record of the consumer was written last. */
  async noteWrites(): Promise<{ readonly last: number }> {
    const records = await this.records();
    const set = records.set.bind(records);
    const writes = { last: 0 };
    records.set = async (...given) => {
      writes.last = this.time;
      return await set(...given);
    };
    this.store.openRecords = () => Promise.resolve(records);
    return writes;
  }

  async state(): Promise<ConsumerState> {
    return decodeState((await (await this.records()).get(consumerKey(NAME)))!.value);
  }

  async failures(): Promise<{ id: string; error: string; attempts: number }[]> {
    const found = await Array.fromAsync((await this.records()).list(failureKey(NAME)));
    return found.map(({ value }) => JSON.parse(value));
  }
}

export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export const never = (): Promise<never> => new Promise<never>(() => {});

/** Registers a test in virtual time; what is logged is given to it. */
export function test(title: string, body: (setting: Setting, log: CapturedLog) => Promise<void>): void {
  Deno.test(title, async () => {
    using log = new CapturedLog();
    await inVirtualTime(new Random(1), async () => {
      const setting = new Setting();
      await body(setting, log);
      await setting.store.close();
    });
  });
}
