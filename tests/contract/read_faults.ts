// What reading promises when the store fails or is slow, and how many calls it makes.
// `testReadFaults` is called with each kind of store.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { toId } from "../../src/topics/message.ts";
import { ticks } from "../spec/support/ticks.ts";
import { fail, faultyTopicTest, StoreFailure } from "./faulty_topic.ts";
import { Gate } from "./gate.ts";
import { take, takeData } from "./reading.ts";
import { append, logOf, messageOf, type StoreKind } from "./store_fixture.ts";

/** Registers the tests of reading over a kind of store that fails. */
export function testReadFaults(kind: StoreKind): void {
  const test = faultyTopicTest(kind);

  test("a subscription gets the messages published after it, however slowly its position is found", async ({ topic, store }) => {
    await topic.publish(0);
    const gate = new Gate();
    store.faults = { beforeBounds: gate.pass };
    const subscription = topic.subscribe();
    const publishing = topic.publish(1);
    await gate.reached;
    // Without the wait, the append would be made in this time.
    await ticks(2);
    gate.open();
    await publishing;
    assertEquals(await takeData(subscription, 1), [1]);
  });

  for (const isWaiting of [true, false]) {
    const title = `a subscription begins after what was published before, though that was not read back yet, ${
      isWaiting ? "while another one waits" : "since nobody waits"
    }`;
    test(title, async ({ topic, store }) => {
      const early = topic.subscribe();
      await early.cursor();
      const gate = new Gate();
      store.faults = { beforeRead: gate.pass };
      const reading = isWaiting ? takeData(early, 2) : undefined;
      await topic.publish(1);
      const late = topic.subscribe();
      gate.open();
      await topic.publish(2);
      assertEquals(await takeData(late, 1), [2]);
      assertEquals(await (reading ?? takeData(early, 2)), [1, 2]);
    });
  }

  test("a subscription begins after the messages of another process, also if none was read", async (setting) => {
    const { topic, store } = setting;
    const idle = topic.subscribe();
    await idle.cursor();
    await append(store.inner, logOf("numbers"), [messageOf(1)]);
    const late = topic.subscribe();
    await topic.publish(2);
    assertEquals(await takeData(late, 1), [2]);
    assertEquals(await takeData(idle, 2), [1, 2]);
  });

  test("subscriptions that resume wait for the follower to open, and read the log once", async ({ topic, store }) => {
    const { id } = await topic.publish(1);
    await topic.publish(2);
    const gate = new Gate();
    store.faults = { beforeBounds: gate.pass };
    const reading = takeData(topic.subscribe({ after: id }), 1);
    await ticks(2);
    assertEquals(store.reads, 0);
    gate.open();
    assertEquals(await reading, [2]);
    assertEquals(store.reads, 1);
  });

  test("a subscription that resumes at the end of an unread log waits there", async ({ topic, store }) => {
    const idle = topic.subscribe();
    await idle.cursor();
    const { id } = await topic.publish(1);
    const waiting = topic.subscribe({ after: id }).nextBatch();
    // A loop of reads would show in this time.
    await ticks(4);
    await topic.publish(2);
    assertEquals((await waiting)?.map((entry) => "data" in entry && entry.data), [2]);
    assert(store.reads <= 4, `${store.reads} readings`);
  });

  test("a message that another process appends while the position is found is not missed", async ({ topic, store }) => {
    const gate = new Gate();
    store.faults = { afterBounds: gate.pass };
    const subscription = topic.subscribe();
    await gate.reached;
    await append(store.inner, logOf("numbers"), [messageOf(1)]);
    await ticks(2);
    gate.open();
    assertEquals(await takeData(subscription, 1), [1]);
  });

  test("a subscription that is closed while its position is found ends, and has no cursor", async ({ topic, store }) => {
    const gate = new Gate();
    store.faults = { beforeBounds: gate.pass };
    const subscription = topic.subscribe();
    const waiting = [subscription.nextBatch(), subscription.cursor()];
    await gate.reached;
    subscription.close();
    assertEquals(await Promise.all(waiting), [undefined, undefined]);
    gate.open();
  });

  test("subscriptions whose position cannot be found fail, and do not hold up publishing", async ({ topic, store }) => {
    store.faults = { beforeBounds: fail };
    for (const from of ["now", "earliest"] as const) {
      const subscription = topic.subscribe({ from });
      await topic.publish(1);
      await assertRejects(() => subscription.nextBatch(), StoreFailure);
    }
    // This one is not read, so no error is seen.
    topic.subscribe({ from: "earliest" });
    await topic.publish(2);
    store.faults = {};
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 3), [1, 1, 2]);
  });

  test("when the log cannot be read, all readers fail, and later ones read again", async ({ topic, store }) => {
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

  test("a message that comes while the log is read is not missed", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    await subscription.cursor();
    const gate = new Gate();
    store.faults = { afterRead: gate.pass };
    const reading = takeData(subscription, 2);
    await topic.publish(1);
    await gate.reached;
    await topic.publish(2);
    store.faults = {};
    gate.open();
    assertEquals(await reading, [1, 2]);
  });

  test("a read that began before a message came does not hide it from other readers", async ({ topic, store }) => {
    const live = topic.subscribe();
    await live.cursor();
    const [following, resuming] = [new Gate(), new Gate()];
    store.faults = { beforeRead: following.pass };
    const first = takeData(live, 1);
    const { id } = await topic.publish(1);
    await following.reached;
    // It resumes beyond what this process has read. The reply to its read is delayed.
    store.faults = { afterRead: resuming.pass };
    const waiting = topic.subscribe({ after: id }).nextBatch();
    await resuming.reached;
    store.faults = {};
    following.open();
    assertEquals(await first, [1]);
    const second = takeData(live, 1);
    await topic.publish(2);
    await ticks(2);
    resuming.open();
    assertEquals(await second, [2]);
    assertEquals((await waiting)?.length, 1);
  });

  test("calls of the store without a reason change nothing", async ({ topic, store }) => {
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
    // The store may call without a reason when a watch begins.
    assert(store.reads <= 11, `${store.reads} reads`);
  });

  test("nothing is read while no reader waits", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    await subscription.cursor();
    for (let data = 0; data < 10; data++) await topic.publish(data);
    await ticks(2);
    assertEquals(store.reads, 0);
    assertEquals((await subscription.nextBatch())?.length, 10);
    assertEquals(store.reads, 1);
    const other = topic.subscribe();
    const waiting = other.nextBatch();
    await ticks(2);
    other.close();
    await waiting;
    // There may be one more read, for a late call about an earlier message.
    const { reads } = store;
    assert(reads <= 2, `${reads} reads`);
    await topic.publish(10);
    await ticks(2);
    assertEquals(store.reads, reads);
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

  test("readers get a gap when the log begins a new incarnation", async ({ topic, store }) => {
    const second = await kind.prepare(Date.now);
    const behind = topic.subscribe();
    const { id } = await topic.publish(1);
    const live = topic.subscribe();
    await live.cursor();
    const inner = second.open();
    const { incarnation, outcomes: [stored] } = await append(inner, logOf("numbers"), [messageOf(2)]);
    store.inner = inner;
    const waiting = live.nextBatch();
    // The watches are at the first store, and this is another one.
    store.watchers.forEach((wake) => wake());
    const gap = { reason: "epoch", from: id, oldest: toId(incarnation, stored!.cursor) } as const;
    assertEquals(await waiting, [{ gap }]);
    assertEquals(await takeData(live, 1), [2]);
    await topic.publish(3);
    store.watchers.forEach((wake) => wake());
    assertEquals(await takeData(live, 1), [3]);
    const [first, next] = await take(behind, 2);
    assert(first && "gap" in first && next && "data" in next);
    assertEquals([first.gap.reason, next.data], ["epoch", 2]);
    await second[Symbol.asyncDispose]();
  });

  test("a reader notices a new incarnation of the log without a call of the store", async ({ topic, store }) => {
    const second = await kind.prepare(Date.now);
    const live = topic.subscribe();
    await topic.publish(1);
    assertEquals(await takeData(live, 1), [1]);
    store.inner = second.open();
    const appended = [2, 3].map((data) => messageOf(data));
    await append(store.inner, logOf("numbers"), appended);
    const late = topic.subscribe({ from: "earliest" });
    assertEquals(await takeData(late, 2), [2, 3]);
    const { reads } = store;
    const waiting = late.nextBatch();
    await ticks(4);
    assert(store.reads <= reads + 2, `${store.reads - reads} readings`);
    const fresh = topic.subscribe();
    await topic.publish(4);
    store.watchers.forEach((wake) => wake());
    assertEquals((await waiting)?.map((entry) => "data" in entry && entry.data), [4]);
    assertEquals(await takeData(fresh, 1), [4]);
    await second[Symbol.asyncDispose]();
  });
}
