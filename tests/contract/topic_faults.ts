// What topics promise when their store fails, is slow, or loses replies: `testTopicFaults` is called with each kind of store.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { PublishOutcomeUnknown } from "../../src/topics/publish_outcome_unknown.ts";
import type { Topic } from "../../src/topics/topic.ts";
import { Topics } from "../../src/topics/topics.ts";
import { ticks } from "../spec/support/ticks.ts";
import { Clock } from "./clock.ts";
import { FaultyStore } from "./faulty_store.ts";
import { Gate } from "./gate.ts";
import { take, takeData } from "./reading.ts";
import { logOf, messageOf, type StoreKind } from "./store_fixture.ts";

/** A topic, and the store where things go wrong. */
interface Setting {
  readonly topic: Topic<number>;
  readonly store: FaultyStore;
}

class StoreFailure extends Error {}

function fail(): never {
  throw new StoreFailure("Cannot reach the store");
}

/** Registers the tests of topics over a kind of store that fails. */
export function testTopicFaults(kind: StoreKind): void {
  const test = (title: string, body: (setting: Setting) => Promise<void>): void => {
    Deno.test(`Topics over ${kind.name} that fails: ${title}`, async () => {
      const clock = new Clock();
      await using fixture = await kind.prepare(clock.now);
      const store = new FaultyStore(fixture.open());
      const topics = new Topics({ openStore: () => store, now: clock.now });
      await body({ topic: topics.topic("numbers"), store });
      await topics.close();
    });
  };

  test("a publish that the store refuses has an unknown outcome, and can be made again", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    store.faults = { beforeAppend: fail };
    const error = await assertRejects(() => topic.publish(1, { id: "one" }), PublishOutcomeUnknown);
    assertEquals(error.id, "one");
    assert(error.cause instanceof StoreFailure);
    assertStringIncludes(error.message, 'publish it again with the id "one"');
    store.faults = {};
    assertEquals((await topic.publish(1, { id: error.id })).duplicate, false);
    assertEquals(await takeData(subscription, 1), [1]);
  });

  test("a publish whose reply is lost is one message when it is made again", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    store.faults = { afterAppend: fail };
    const error = await assertRejects(() => topic.publish(1, { id: "one" }), PublishOutcomeUnknown);
    store.faults = {};
    const { id, duplicate } = await topic.publish(1, { id: error.id });
    assertEquals(duplicate, true);
    await topic.publish(2);
    const [first, second] = await take(subscription, 2);
    assertEquals([first && "id" in first && first.id, second && "data" in second && second.data], [id, 2]);
  });

  test("all that were published together learn that the reply was lost, each of its own message", async (setting) => {
    setting.store.faults = { afterAppend: fail };
    const publishing = ["a", "b", "c"].map((id) => assertRejects(() => setting.topic.publish(0, { id })));
    const errors = await Promise.all(publishing);
    assertEquals(errors.map((error) => error instanceof PublishOutcomeUnknown && error.id), ["a", "b", "c"]);
    assertEquals(setting.store.batches, [3]);
  });

  test("a publish that is given up while it is stored can be made again, with or without an id", async (setting) => {
    const { topic, store } = setting;
    for (const id of ["one", undefined]) {
      const gate = new Gate();
      store.faults = { beforeAppend: gate.pass };
      const controller = new AbortController();
      const { signal } = controller;
      const publishing = assertRejects(() => topic.publish(1, { signal, ...id && { id } }), PublishOutcomeUnknown);
      await gate.reached;
      controller.abort("Too slow");
      const error = await publishing;
      assertEquals(error.cause, "Too slow");
      gate.open();
      store.faults = {};
      assertEquals((await topic.publish(1, { id: error.id })).duplicate, true);
    }
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 2), [1, 1]);
  });

  test("a publish that is given up before it is sent was not made", async ({ topic, store }) => {
    const gate = new Gate();
    store.faults = { beforeAppend: gate.pass };
    const first = topic.publish(1);
    await gate.reached;
    const controller = new AbortController();
    const second = assertRejects(() => topic.publish(2, { signal: controller.signal }), StoreFailure);
    const third = topic.publish(3);
    controller.abort(new StoreFailure("Enough"));
    await second;
    gate.open();
    await Promise.all([first, third]);
    const aborted = AbortSignal.abort(new StoreFailure("Before"));
    await assertRejects(() => topic.publish(4, { signal: aborted }), StoreFailure, "Before");
    await topic.publish(5);
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 3), [1, 3, 5]);
  });

  test("the store is told when the last who waits has given up, and not before", async ({ topic, store }) => {
    const gate = new Gate();
    let given: AbortSignal | undefined;
    store.faults = {
      beforeAppend: (_messages, signal) => {
        given = signal;
        return gate.pass();
      },
    };
    const controllers = [new AbortController(), new AbortController()];
    const publishing = controllers.map(({ signal }, data) => assertRejects(() => topic.publish(data, { signal })));
    await gate.reached;
    controllers[0]!.abort();
    await publishing[0];
    assertEquals(given?.aborted, false);
    controllers[1]!.abort();
    await publishing[1];
    assertEquals(given?.aborted, true);
    gate.open();
  });

  test("one append is on its way at a time, and takes all that wait", async ({ topic, store }) => {
    let running = 0;
    const gate = new Gate();
    store.faults = {
      beforeAppend: async () => {
        assertEquals(++running, 1);
        await gate.pass();
      },
      afterAppend: () => void running--,
    };
    const publishing = [topic.publish(0)];
    await gate.reached;
    const { maxBatchMessages } = store.capabilities;
    for (let data = 1; data <= maxBatchMessages + 2; data++) publishing.push(topic.publish(data));
    gate.open();
    await Promise.all(publishing);
    assertEquals(store.batches, [1, maxBatchMessages, 2]);
  });

  test("what is appended at once keeps to the size that the store takes", async ({ topic, store }) => {
    const { maxMessageBytes, maxBatchBytes } = store.capabilities;
    const perBatch = Math.floor(maxBatchBytes / maxMessageBytes);
    const text = "x".repeat(maxMessageBytes - 2);
    const large = topic as Topic<unknown> as Topic<string>;
    await Promise.all(Array.from({ length: 2 * perBatch + 1 }, () => large.publish(text)));
    assertEquals(store.batches, [perBatch, perBatch, 1]);
  });

  test("a store that hangs does not fill the memory", async ({ topic, store }) => {
    const gate = new Gate();
    store.faults = { beforeAppend: gate.pass };
    const large = topic as Topic<unknown> as Topic<string>;
    const { maxMessageBytes } = store.capabilities;
    const text = "x".repeat(maxMessageBytes - 2);
    const publishing: Promise<unknown>[] = [];
    for (let bytes = 0; bytes <= 64 * 1024 * 1024; bytes += maxMessageBytes) {
      publishing.push(large.publish(text).then(() => "stored", (error) => String(error)));
      // The first goes to the store by itself.
      if (publishing.length === 1) await gate.reached;
    }
    const more = await assertRejects(() => large.publish(text), Error, "wait to be stored");
    assert(!(more instanceof PublishOutcomeUnknown));
    gate.open();
    assertEquals(new Set(await Promise.all(publishing)), new Set(["stored"]));
  });

  test("a subscription gets what is published after it, however slowly its place is found", async ({ topic, store }) => {
    await topic.publish(0);
    const gate = new Gate();
    store.faults = { beforeBounds: gate.pass };
    const subscription = topic.subscribe();
    const publishing = topic.publish(1);
    await gate.reached;
    // Time enough to append, if it did not wait.
    await ticks(2);
    gate.open();
    await publishing;
    assertEquals(await takeData(subscription, 1), [1]);
  });

  test("a subscription begins after what was published before, though that was not read back yet", async (setting) => {
    const { topic, store } = setting;
    const early = topic.subscribe();
    await early.cursor();
    const gate = new Gate();
    store.faults = { beforeRead: gate.pass };
    await topic.publish(1);
    const late = topic.subscribe();
    gate.open();
    await topic.publish(2);
    assertEquals(await takeData(late, 1), [2]);
    assertEquals(await takeData(early, 2), [1, 2]);
  });

  test("a message that another process appends while the place is found is not overlooked", async ({ topic, store }) => {
    const gate = new Gate();
    store.faults = { afterBounds: gate.pass };
    const subscription = topic.subscribe();
    await gate.reached;
    await store.inner.append(logOf("numbers"), [messageOf(1)]);
    await ticks(2);
    gate.open();
    assertEquals(await takeData(subscription, 1), [1]);
  });

  test("a subscription that is closed while its place is found ends, and knows no place", async ({ topic, store }) => {
    const gate = new Gate();
    store.faults = { beforeBounds: gate.pass };
    const subscription = topic.subscribe();
    const waiting = [subscription.nextBatch(), subscription.cursor()];
    await gate.reached;
    subscription.close();
    assertEquals(await Promise.all(waiting), [undefined, undefined]);
    gate.open();
  });

  test("subscriptions whose place cannot be found fail, and do not hold up publishing", async ({ topic, store }) => {
    store.faults = { beforeBounds: fail };
    for (const from of ["now", "earliest"] as const) {
      const subscription = topic.subscribe({ from });
      await topic.publish(1);
      await assertRejects(() => subscription.nextBatch(), StoreFailure);
    }
    // Nobody reads this one, and nobody is told.
    topic.subscribe({ from: "earliest" });
    await topic.publish(2);
    store.faults = {};
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 3), [1, 1, 2]);
  });

  test("when the log cannot be read all readers fail, and new ones begin anew", async ({ topic, store }) => {
    const readers = [topic.subscribe(), topic.subscribe()];
    const { id } = await topic.publish(1);
    for (const reader of readers) assertEquals(await takeData(reader, 1), [1]);
    store.faults = { beforeRead: fail };
    const waiting = readers.map((reader) => assertRejects(() => reader.next(), StoreFailure));
    await topic.publish(2);
    await Promise.all(waiting);
    assertEquals(store.watchers.size, 0);
    store.faults = {};
    for (const reader of readers) assertEquals(await reader.next(), { done: true, value: undefined });
    assertEquals(await takeData(topic.subscribe({ after: id }), 1), [2]);
  });

  test("a message that comes while the log is read is not overlooked", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    await subscription.cursor();
    const gate = new Gate();
    store.faults = { afterRead: gate.pass };
    await topic.publish(1);
    await gate.reached;
    await topic.publish(2);
    store.faults = {};
    gate.open();
    assertEquals(await takeData(subscription, 2), [1, 2]);
  });

  test("a reading that began before a message came does not hide it from the others", async ({ topic, store }) => {
    const live = topic.subscribe();
    await live.cursor();
    const [following, resuming] = [new Gate(), new Gate()];
    store.faults = { beforeRead: following.pass };
    const { id } = await topic.publish(1);
    await following.reached;
    // Resumes where this process has not come yet; what it finds is held up on its way.
    store.faults = { afterRead: resuming.pass };
    const waiting = topic.subscribe({ after: id }).nextBatch();
    await resuming.reached;
    store.faults = {};
    following.open();
    assertEquals(await takeData(live, 1), [1]);
    await topic.publish(2);
    await ticks(2);
    resuming.open();
    assertEquals(await takeData(live, 1), [2]);
    assertEquals((await waiting)?.length, 1);
  });

  test("calls for nothing change nothing", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    await topic.publish(1);
    const wakeAll = () => store.watchers.forEach((wake) => wake());
    wakeAll();
    wakeAll();
    assertEquals(await takeData(subscription, 1), [1]);
    wakeAll();
    const waiting = subscription.nextBatch();
    wakeAll();
    await topic.publish(2);
    assertEquals((await waiting)?.map((entry) => "data" in entry && entry.data), [2]);
  });

  test("the log is read once for a message, whatever the number of readers", async ({ topic, store }) => {
    const readers = Array.from({ length: 200 }, () => topic.subscribe());
    await Promise.all(readers.map((reader) => reader.cursor()));
    store.reads = 0;
    for (let data = 0; data < 10; data++) {
      const waiting = readers.map((reader) => reader.nextBatch());
      await topic.publish(data);
      assertEquals((await Promise.all(waiting)).map((batch) => batch?.length), readers.map(() => 1));
    }
    assertEquals(store.reads, 10);
  });

  test("a log is watched for as long as it has readers", async ({ topic, store }) => {
    assertEquals(store.watchers.size, 0);
    const readers = [topic.subscribe(), topic.subscribe()];
    assertEquals(store.watchers.size, 1);
    readers[0]!.close();
    assertEquals(store.watchers.size, 1);
    readers[1]!.close();
    assertEquals(store.watchers.size, 0);
  });

  test("readers are told when the log begins a new life under them", async ({ topic, store }) => {
    const second = await kind.prepare(Date.now);
    const behind = topic.subscribe();
    const { id } = await topic.publish(1);
    const live = topic.subscribe();
    await live.cursor();
    store.inner = second.open();
    const waiting = live.nextBatch();
    // The store calls those who watch it; here the store is another one.
    const published = await topic.publish(2);
    store.watchers.forEach((wake) => wake());
    const gap = { reason: "epoch", oldest: published.id } as const;
    assertEquals(await waiting, [{ gap: { ...gap, from: id } }]);
    assertEquals(await takeData(live, 1), [2]);
    const [first, next] = await take(behind, 2);
    assert(first && "gap" in first && next && "data" in next);
    assertEquals([first.gap.reason, next.data], ["epoch", 2]);
    await second[Symbol.asyncDispose]();
  });

  test("a log that began a new life without a call is found out by whoever reads it", async ({ topic, store }) => {
    const second = await kind.prepare(Date.now);
    const live = topic.subscribe();
    await topic.publish(1);
    assertEquals(await takeData(live, 1), [1]);
    store.inner = second.open();
    const appended = [2, 3].map((data) => messageOf(data));
    await store.inner.append(logOf("numbers"), appended);
    const late = topic.subscribe({ from: "earliest" });
    assertEquals(await takeData(late, 2), [2, 3]);
    const waiting = late.nextBatch();
    await ticks(2);
    const readsBefore = store.reads;
    await ticks(2);
    assertEquals(store.reads, readsBefore);
    await topic.publish(4);
    store.watchers.forEach((wake) => wake());
    assertEquals((await waiting)?.map((entry) => "data" in entry && entry.data), [4]);
    await second[Symbol.asyncDispose]();
  });
}
