// "Delay" in section 3 of the contract of stores: `publish(data, { after: "10m" })` or `{ at: Date }`.

import { App, InvalidMessageError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import { inVirtualTime } from "../../../dev/faults/simulation/virtual_time.ts";
import type { RecordKey, RecordStore } from "../../../src/store/record_store.ts";
import { LOG_START, type StoredMessage } from "../../../src/store/topic_store.ts";
import { resolveTopicOptions } from "../../../src/topics/topic_options.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { FILE } from "../../contract/kv/file_store.ts";
import { takeData, takeMessages } from "../../contract/reading.ts";
import { testScheduled } from "../../contract/scheduled.ts";
import { ALL, type StoreKind } from "../../contract/store_fixture.ts";
import { Random } from "../../unit/support/random.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { SharedMemory } from "../support/node_store.ts";
import { SmallStore } from "../support/small_store.ts";

const MEMORY: StoreKind = {
  name: "the store in memory",
  prepare: async (now) => {
    const store = new SharedMemory({ now });
    return { open: () => store, [Symbol.asyncDispose]: () => store.end() };
  },
};

testScheduled(MEMORY);
testScheduled(FILE);

/** Counts requests of records, and fails those that a test wants to fail. */
class WatchedMemory extends SharedMemory {
  requests = 0;
  fails: (method: string, key: RecordKey) => boolean = () => false;

  override async openRecords(): Promise<RecordStore> {
    const records = await super.openRecords();
    const check = async (method: string, key: RecordKey): Promise<void> => {
      this.requests++;
      if (this.fails(method, key)) throw new Error("The store does not answer");
    };
    return {
      get: async (key) => (await check("get", key), await records.get(key)),
      set: async (key, value, options) => (await check("set", key), await records.set(key, value, options)),
      delete: async (key, options) => (await check("delete", key), await records.delete(key, options)),
      list: (prefix) => {
        this.requests++;
        return records.list(prefix);
      },
    };
  }
}

interface Lab {
  readonly store: WatchedMemory;
  node(): Promise<Topics>;
  read(): Promise<readonly StoredMessage[]>;
}

const OPTIONS = { durable: true, dedupe: "2m" } as const;

/** Registers a test in virtual time: nodes share a store. */
function virtual(title: string, body: (lab: Lab) => Promise<void>): void {
  Deno.test(`Scheduled messages: ${title}`, async () => {
    await inVirtualTime(new Random(1), async () => {
      using _log = new CapturedLog();
      const store = new WatchedMemory();
      const nodes: Topics[] = [];
      // Nodes of a shared store do not keep the process alive.
      const alive = setInterval(() => {}, 1_000);
      await body({
        store,
        node: async () => {
          const topics = new Topics({ openStore: () => store });
          topics.topic("reminders", OPTIONS);
          await topics.start();
          nodes.push(topics);
          return topics;
        },
        read: async () => {
          const { policy } = resolveTopicOptions(OPTIONS, "reminders");
          return (await store.read({ name: "reminders", policy }, LOG_START, ALL)).messages;
        },
      });
      await Promise.all(nodes.map((topics) => topics.close()));
      clearInterval(alive);
      await store.end();
    });
  });
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

virtual('a message is published "within 1 s, once, on whichever node"', async ({ node, read }) => {
  const nodes = [await node(), await node(), await node()];
  const due = [];
  for (const [index, after] of (["10ms", "999ms", "5s", "61s", "90m", "364d"] as const).entries()) {
    due.push((await nodes[index % 3]!.topic("reminders").publish(index, { after })).at.getTime());
  }
  await pass(2 * 60 * 60 * 1000);
  const messages = await read();
  assertEquals(messages.map(({ data }) => data), ["0", "1", "2", "3", "4"]);
  for (const [index, { time }] of messages.entries()) {
    const delay = time - due[index]!;
    assert(delay >= 0 && delay < 1_000, `Message ${index} came ${delay} ms after its time`);
  }
});

virtual("the messages of a node that has ended come within 1 s, too", async ({ node, read }) => {
  const [one] = [await node(), await node(), await node()];
  const due = [];
  for (const after of ["2s", "10s", "1h"] as const) {
    due.push((await one!.topic("reminders").publish(after, { after })).at.getTime());
  }
  await one!.close();
  await pass(2 * 60 * 60 * 1000);
  for (const [index, { time }] of (await read()).entries()) {
    const delay = time - due[index]!;
    assert(delay >= 0 && delay < 1_000, `Message ${index} came ${delay} ms after its time`);
  }
});

for (const pause of [0, 60_000, 3_600_000]) {
  virtual(`after "a crash between publish and delete" and ${pause} ms, a message is there once`, async (lab) => {
    const { store, node, read } = lab;
    const crashing = await node();
    store.fails = (method, [kind]) => method === "delete" && kind === "scheduled";
    await crashing.topic("reminders").publish(1, { after: "5s" });
    await pass(6_000);
    assertEquals((await read()).length, 1);
    await crashing.close();
    store.fails = () => false;
    // Longer than the topic remembers ids.
    await pass(pause);
    const next = await node();
    await pass(10_000);
    assertEquals((await read()).length, 1);
    assertEquals(await next.publishScheduled(), 0);
  });
}

virtual("a message that a node has taken before it died is published by another one", async ({ store, node, read }) => {
  const dying = await node();
  const taken = Promise.withResolvers<void>();
  store.append = async () => {
    taken.resolve();
    return await new Promise<never>(() => {});
  };
  await dying.topic("reminders").publish(1, { after: "5s" });
  await taken.promise;
  assertEquals(await dying.topic("reminders").cancel("unknown"), false);
  Reflect.deleteProperty(store, "append");
  await node();
  await pass(5_000);
  assertEquals((await read()).length, 1);
});

virtual("what is being published can no longer be cancelled", async ({ store, node, read }) => {
  const [one, other] = [await node(), await node()];
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  store.append = async (...args) => {
    reached.resolve();
    await gate.promise;
    return await WatchedMemory.prototype.append.apply(store, args);
  };
  await one.topic("reminders").publish(1, { id: "own", after: "5s" });
  await reached.promise;
  assertEquals(await other.topic("reminders").cancel("own"), false);
  gate.resolve();
  await pass(5_000);
  assertEquals((await read()).length, 1);
});

virtual("an outage of the store delays messages, and loses none", async ({ store, node, read }) => {
  const one = await node();
  for (let count = 0; count < 10; count++) await one.topic("reminders").publish(count, { after: 1_000 + count * 500 });
  store.fails = () => true;
  await pass(60_000);
  store.fails = () => false;
  await pass(31_000);
  assertEquals((await read()).map(({ data }) => Number(data)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

virtual("2,000 scheduled messages cost few requests until they are due", async ({ store, node, read }) => {
  const [one] = [await node(), await node()];
  const topic = one!.topic<number>("reminders");
  for (let count = 0; count < 2_000; count++) {
    await topic.publish(count, { after: 600_000 + (count % 100) * 500 });
  }
  const before = store.requests;
  await pass(300_000);
  const perSecond = (store.requests - before) / 300;
  assert(perSecond < 10, `Two nodes made ${perSecond} requests per second`);
  await pass(400_000);
  const messages = await read();
  assertEquals([messages.length, new Set(messages.map(({ data }) => data)).size], [2_000, 2_000]);
});

virtual("the clock of the store decides, and not those of nodes", async ({ store, node, read }) => {
  const ahead = 3_600_000;
  Object.assign(store, { now: () => Date.now() + ahead });
  const topic = (await node()).topic<string>("reminders");
  const after = await topic.publish("after", { after: "10s" });
  assertEquals(after.at.getTime(), Date.now() + ahead + 10_000);
  await topic.publish("at", { at: new Date(Date.now() + ahead + 5_000) });
  await pass(4_000);
  assertEquals(await read(), []);
  await pass(2_000);
  assertEquals((await read()).length, 1);
  await pass(5_000);
  assertEquals((await read()).map(({ data }) => data), ['"at"', '"after"']);
});

virtual("a topic that no node uses any more gets its messages", async ({ store, node }) => {
  const one = await node();
  await one.topic("former", OPTIONS).publish(1, { after: "5s" });
  await one.close();
  await node();
  await pass(7_000);
  const { policy } = resolveTopicOptions(OPTIONS, "former");
  assertEquals((await store.read({ name: "former", policy }, LOG_START, ALL)).messages.length, 1);
});

Deno.test("A topic in memory publishes later, within the process", async () => {
  await inVirtualTime(new Random(1), async () => {
    const app = new App();
    const topic = app.topic<string>("reminders");
    await using subscription = topic.subscribe();
    await topic.publish("second", { after: "20m" });
    await topic.publish("first", { type: "note", at: new Date(Date.now() + 600_000) });
    const begin = Date.now();
    const [first] = await takeMessages(subscription, 1);
    assertEquals([first!.data, first!.type], ["first", "note"]);
    assert(Date.now() - begin < 601_000);
    assertEquals(await takeData(subscription, 1), ["second"]);
    await app.stop();
  });
});

Deno.test('"both at once", bad dates and bad durations "are errors where made"', async () => {
  const app = new App();
  const topic = app.topic<number>("reminders", { schema: v.number() });
  const at = new Date(Date.now() + 60_000);
  // @ts-expect-error They exclude each other.
  await assertRejects(() => topic.publish(1, { after: "1m", at }), TypeError, "both after and at, give one of them");
  await assertRejects(() => topic.publish(1, { at: new Date(NaN) }), TypeError, "at must be a valid Date");
  await assertRejects(() => topic.publish(1, { at: at.toISOString() as never }), TypeError, "at must be a valid Date");
  await assertRejects(() => topic.publish(1, { after: "tomorrow" as never }), RangeError, 'got "tomorrow"');
  await assertRejects(() => topic.publish(1, { after: 0 }), RangeError, "above 0");
  await assertRejects(() => topic.publish(1, { after: "367d" }), RangeError, "at most a year ahead");
  await assertRejects(() => topic.publish(1, { at: new Date("2100-01-01") }), RangeError, "at most a year ahead");
  await assertRejects(() => topic.publish("1" as never, { after: "1m" }), InvalidMessageError);
  await assertRejects(() => topic.cancel(""), TypeError, "the id must be a string of 1 to 256 characters");
  await assertRejects(() => topic.publish(1, { after: "1m", signal: AbortSignal.abort() }), DOMException);
  await app.stop();
});

Deno.test("A store of topics without records refuses messages for later", async () => {
  const app = new App({ topics: new SmallStore() });
  const topic = app.topic<number>("reminders", { durable: true });
  await app.start();
  await assertRejects(() => topic.publish(1, { after: "1m" }), TypeError, "give it openRecords()");
  await app.stop();
});

Deno.test("A stop does not wait for scheduled messages, and a restart publishes them", async () => {
  const folder = await Deno.makeTempDir();
  const appOf = () => {
    const app = new App({ topics: `${folder}/topics.sqlite` });
    return { app, topic: app.topic<number>("reminders", { durable: true }) };
  };
  const one = appOf();
  await one.app.start();
  await one.topic.publish(1, { after: "200ms" });
  await one.app.stop();
  const other = appOf();
  const subscription = other.topic.subscribe({ from: "earliest" });
  await other.app.start();
  assertEquals(await takeData(subscription, 1), [1]);
  await other.topic.publish(2, { after: "1h" });
  const { topics: [report] } = await other.app.reportTopics();
  assertEquals([report?.name, report?.messages, report?.scheduled], ["reminders", 1, 1]);
  await other.app.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("TestClient publishes what is scheduled", async () => {
  const app = new App({ topics: ":memory:" });
  const sent: string[] = [];
  const handled = Promise.withResolvers<void>();
  const topic = app.topic<string>("reminders", { durable: true });
  app.topic("others");
  topic.consume("mail", { key: () => "" }, ({ data }) => {
    sent.push(data);
    if (sent.length === 2) handled.resolve();
  });
  app.post("/orders", async () => {
    await topic.publish("Second", { after: "2d" });
    await topic.publish("First", { after: "1d" });
  });
  await using client = new TestClient(app);
  await client.post("/orders");
  assertEquals(await client.publishScheduled("others"), 0);
  assertEquals(await client.publishScheduled(), 2);
  await handled.promise;
  assertEquals(sent, ["First", "Second"]);
  await assertRejects(
    () => client.publishScheduled("reminder"),
    TypeError,
    'Cannot publish the scheduled messages of "reminder": there is no topic of this name',
  );
  const other = new TestClient({ fetch: () => new Response() });
  await assertRejects(() => other.publishScheduled(), TypeError, "must test an App");
});

Deno.test('"Together with `transaction` in SQL stores": a message is scheduled by the commit', async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/shop.sqlite`;
  const [app, elsewhere] = [new App({ topics: { sqlite: file } }), new App({ topics: { sqlite: file } })];
  const [topic, other] = [app, elsewhere].map((one) => one.topic<string>("reminders", { durable: true }));
  await Promise.all([app.start(), elsewhere.start()]);
  const db = new DatabaseSync(file, { timeout: 5_000 });
  const subscription = other!.subscribe();
  await subscription.cursor();

  db.exec("BEGIN IMMEDIATE");
  await topic!.publish("undone", { after: "10ms", transaction: db });
  db.exec("ROLLBACK");
  db.exec("BEGIN IMMEDIATE");
  await topic!.publish("cancelled", { id: "cancelled", after: "1h", transaction: db });
  assertEquals(await topic!.publish("later", { id: "later", type: "note", after: "1s", transaction: db }), undefined);
  assertThrows(
    () => topic!.publish("x".repeat(60_000), { after: "1s", transaction: db }),
    RangeError,
    "published later",
  );
  const at = new Date();
  await assertRejects(
    () => topic!.publish("both", { after: "1s", at, transaction: { query: () => Promise.resolve() } }),
    TypeError,
    "both after and at",
  );
  db.exec("COMMIT");
  assertEquals(await other!.cancel("cancelled"), true);
  const [message] = await takeMessages(subscription, 1);
  assertEquals([message!.data, message!.type], ["later", "note"]);
  assertEquals(await other!.cancel("later"), false);
  const { topics } = await app.reportTopics();
  assertEquals(topics.map(({ name, messages, scheduled }) => [name, messages, scheduled]), [["reminders", 1, 0]]);
  assertThrows(() => app.topic("webfw.scheduled"), TypeError, "the name");
  db.close();
  await Promise.all([app.stop(), elsewhere.stop()]);
  await Deno.remove(folder, { recursive: true });
});
