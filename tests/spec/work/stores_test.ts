// Section 6 of the contract of work: "TopicStore is simpler".

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import {
  type AppendResult,
  type Cursor,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogRef,
  type NewMessage,
  type ReadLimits,
  type StoredMessage,
  type TopicStore,
} from "@webfw/core/store";
import { openDurableStore } from "../../../src/store/lazy_store.ts";
import { toLocation } from "../../../src/store/location.ts";
import { takeData } from "../../contract/reading.ts";

/** All that a store must have. Its logs keep everything. */
class SmallStore implements TopicStore {
  readonly capabilities = {
    durability: "memory",
    maxMessageBytes: 1_000,
    maxBatchMessages: 10,
    maxBatchBytes: 10_000,
    ids: { longest: Infinity, count: Infinity, outlivesMessage: true },
  } as const;
  readonly appended: NewMessage[] = [];
  readonly #logs = new Map<string, StoredMessage[]>();
  readonly #cursors = new Map<string, Cursor>();
  readonly #watchers = new Set<() => void>();

  async bounds({ name }: LogRef): Promise<LogBounds> {
    const highWatermark = this.#logs.get(name)?.at(-1)?.cursor ?? LOG_START;
    return { incarnation: "00000001", lowWatermark: LOG_START, highWatermark };
  }

  async append({ name }: LogRef, messages: readonly NewMessage[]): Promise<AppendResult> {
    const log = this.#logs.get(name) ?? [];
    this.#logs.set(name, log);
    const outcomes = messages.map(({ id, type, data, bytes }) => {
      const first = this.#cursors.get(`${name} ${id}`);
      if (first !== undefined) return { cursor: first, duplicate: true };
      const cursor = (log.length + 1).toString(16).padStart(LOG_START.length, "0");
      log.push({ cursor, type, data, bytes, time: Date.now() });
      this.#cursors.set(`${name} ${id}`, cursor);
      return { cursor, duplicate: false };
    });
    this.appended.push(...messages);
    for (const onChange of this.#watchers) onChange();
    return { incarnation: "00000001", outcomes };
  }

  async read(log: LogRef, after: Cursor, { maxMessages }: ReadLimits): Promise<LogPage> {
    const messages = (this.#logs.get(log.name) ?? []).filter(({ cursor }) => cursor > after).slice(0, maxMessages);
    return { ...await this.bounds(log), messages };
  }

  async seek({ name }: LogRef, time: Date) {
    const before = (this.#logs.get(name) ?? []).filter((message) => message.time < time.getTime());
    return { incarnation: "00000001", cursor: before.at(-1)?.cursor ?? LOG_START };
  }

  watch(_log: LogRef, onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => void this.#watchers.delete(onChange);
  }

  async close(): Promise<void> {}
}

Deno.test('A store without "trim" and "injected clocks", which "are optional", serves durable topics', async () => {
  const app = new App({ topics: new SmallStore() });
  const topic = app.topic<number>("numbers", { durable: true });
  await app.start();
  const subscription = topic.subscribe();
  const { id } = await topic.publish(1);
  await Promise.all(Array.from({ length: 25 }, (_, index) => topic.publish(2 + index)));
  assertEquals(await takeData(subscription, 26), Array.from({ length: 26 }, (_, index) => 1 + index));
  assertEquals(await takeData(topic.subscribe({ after: id }), 1), [2]);
  await app.stop();
});

Deno.test('"Every message has an id (the framework\'s own are marked so)"', async () => {
  const store = new SmallStore();
  const topic = new App({ topics: store }).topic<number>("numbers", { durable: true });
  await Promise.all([topic.publish(1), topic.publish(2, { id: "own" }), topic.publish(3)]);
  assertEquals(store.appended.map(({ isGenerated }) => isGenerated), [true, false, true]);
  const [first, own, third] = store.appended.map(({ id }) => id);
  assert(first!.endsWith(".0") && third!.endsWith(".2"), "The numbers are those of the messages");
  assertEquals([own, third!.slice(0, -2)], ["own", first!.slice(0, -2)]);
  assertEquals((await topic.publish(4, { id: "own" })).duplicate, true);
});

Deno.test('NATS: "Durability `quorum` with 3 replicas", and "ids within the log\'s age"', () => {
  const capabilitiesOf = (url: string) => openDurableStore(toLocation(url)).capabilities;
  assertEquals(capabilitiesOf("nats://a,nats://b,nats://c").durability, "quorum");
  const { durability, ids } = capabilitiesOf("nats://a");
  assertEquals([durability, ids.outlivesMessage], ["disk", false]);
});
