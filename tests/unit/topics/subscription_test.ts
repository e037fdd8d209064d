import { assert, assertEquals, assertThrows } from "@std/assert";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import type { GapReason } from "../../../src/topics/message.ts";
import type { Topic } from "../../../src/topics/topic.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { take, takeData } from "../../contract/reading.ts";

const GARBAGE = [
  "",
  "1",
  "-",
  "00000000-000000000000000000000g",
  "00000000-0000000000000000000000 ",
  "A".repeat(31),
  null,
];

function test(title: string, body: (topic: Topic<number>) => Promise<void>): void {
  Deno.test(title, async () => {
    const topics = new Topics({ openStore: () => new MemoryStore() });
    await body(topics.topic("numbers", { retention: { count: 3 } }));
    await topics.close();
  });
}

test("A subscription can resume elsewhere before it is read", async (topic) => {
  const { id } = await topic.publish(1);
  await topic.publish(2);
  const subscription = topic.subscribe();
  subscription.resumeAfter(id);
  assertEquals([await subscription.cursor(), await takeData(subscription, 1)], [id, [2]]);
  const early = topic.subscribe({ from: "earliest" });
  early.resumeAfter(await topic.head());
  await topic.publish(3);
  assertEquals(await takeData(early, 1), [3]);
});

test("It gets a gap when it resumes after a message that is lost, beyond the end or of another topic", async (topic) => {
  const ids: string[] = [];
  for (const data of [1, 2, 3, 4, 5]) ids.push((await topic.publish(data)).id);
  const table: [id: string, reason: GapReason][] = [
    [ids[0]!, "retention"],
    [ids[4]!.slice(0, -1) + "f", "ahead"],
    [`00000000${ids[4]!.slice(8)}`, "epoch"],
  ];
  for (const [id, reason] of table) {
    const subscription = topic.subscribe();
    await subscription.cursor();
    subscription.resumeAfter(id);
    const [gap] = await take(subscription, 1);
    assertEquals(gap && "gap" in gap && gap.gap.reason, reason);
  }
});

test("It can resume while its position is still being found", async (topic) => {
  const { id } = await topic.publish(1);
  await topic.publish(2);
  const subscription = topic.subscribe();
  const cursor = subscription.cursor();
  subscription.resumeAfter(id);
  assertEquals([await cursor, await takeData(subscription, 1)], [id, [2]]);
});

test("It cannot resume elsewhere once reading has begun", async (topic) => {
  const { id } = await topic.publish(1);
  const subscription = topic.subscribe();
  const waiting = subscription.nextBatch();
  assertThrows(() => subscription.resumeAfter(id), TypeError, "reading has begun");
  subscription.close();
  assertEquals(await waiting, undefined);
});

test("An invalid id is refused, wherever it comes from", async (topic) => {
  const subscription = topic.subscribe();
  for (const id of GARBAGE) {
    assertThrows(() => subscription.resumeAfter(id as string), SyntaxError, "it is not the id of a message");
    assertThrows(() => topic.subscribe({ after: id as string }), SyntaxError);
  }
  await topic.publish(1);
  assertEquals(await takeData(subscription, 1), [1]);
});

test("It begins only where one can begin", async (topic) => {
  for (const from of ["later", new Date(NaN), 5, null]) {
    assertThrows(
      () => topic.subscribe({ from: from as "now" }),
      TypeError,
      'from must be "now", "earliest" or a valid',
    );
  }
  const { id } = await topic.publish(1);
  await topic.publish(2);
  assertEquals(await takeData(topic.subscribe({ after: id, from: "earliest" }), 1), [2]);
});

test("The cursor is the position after the last read, entry by entry or batch by batch", async (topic) => {
  const subscription = topic.subscribe();
  const start = await topic.head();
  const ids: string[] = [];
  for (const data of [1, 2, 3]) ids.push((await topic.publish(data)).id);
  assertEquals(await subscription.cursor(), start);
  await subscription.next();
  assertEquals(await subscription.cursor(), ids[0]);
  await subscription.next();
  assertEquals(await subscription.cursor(), ids[1]);
  // The rest of one read.
  assertEquals((await subscription.nextBatch())?.map((entry) => "data" in entry && entry.data), [3]);
  assertEquals(await subscription.cursor(), ids[2]);
  const { id } = await topic.publish(4);
  await subscription.nextBatch();
  assertEquals(await subscription.cursor(), id);
  subscription.close();
  assertEquals(await subscription.cursor(), id);
});

test("Entries and batches can be asked for in turn", async (topic) => {
  const subscription = topic.subscribe();
  for (const data of [1, 2, 3]) await topic.publish(data);
  assertEquals(await takeData(subscription, 1), [1]);
  assertEquals((await subscription.nextBatch())?.length, 2);
  await topic.publish(4);
  assertEquals(await takeData(subscription, 1), [4]);
});

test("After a gap the cursor is the position before the oldest message that is kept", async (topic) => {
  const ids: string[] = [];
  for (const data of [1, 2, 3, 4, 5]) ids.push((await topic.publish(data)).id);
  const subscription = topic.subscribe({ after: ids[0]! });
  const [gap] = await take(subscription, 1);
  assert(gap && "gap" in gap);
  assertEquals([gap.gap.oldest, await subscription.cursor()], [ids[2]!, ids[1]!]);
  assertEquals(await takeData(topic.subscribe({ after: ids[1]! }), 3), [3, 4, 5]);
  assertEquals(await takeData(subscription, 3), [3, 4, 5]);
});

test("A reader gets messages between gaps, however fast they are published", async (topic) => {
  const subscription = topic.subscribe();
  let [gaps, messages] = [0, 0];
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 10 }, (_, data) => topic.publish(data)));
    const batch = (await subscription.nextBatch())!;
    if ("gap" in batch[0]!) gaps++;
    else messages += batch.length;
  }
  assertEquals([gaps, messages], [10, 30]);
});

test("A subscription whose signal was aborted before is closed", async (topic) => {
  const subscription = topic.subscribe({ signal: AbortSignal.abort() });
  assertEquals([await subscription.nextBatch(), await subscription.cursor()], [undefined, undefined]);
});

test("A closed subscription leaves nothing at its signal", async (topic) => {
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  const subscription = topic.subscribe({ signal });
  await topic.publish(1, { signal });
  assertEquals(listeners, 1);
  subscription.close();
  assertEquals(listeners, 0);
});

test("A subscription that is not read costs only its position, and gives a gap when it is read", async (topic) => {
  const subscription = topic.subscribe();
  const start = await subscription.cursor();
  for (let data = 0; data < 5000; data++) await topic.publish(data);
  const [gap, ...rest] = await take(subscription, 4);
  assert(gap && "gap" in gap && rest[0] && "id" in rest[0]);
  assertEquals(gap.gap, { reason: "slow", from: start!, oldest: rest[0].id });
  assertEquals(rest.map((entry) => "data" in entry && entry.data), [4997, 4998, 4999]);
});

test("It is disposed of with its block", async (topic) => {
  let waiting: Promise<unknown>;
  {
    await using subscription = topic.subscribe();
    waiting = subscription.nextBatch();
  }
  assertEquals(await waiting, undefined);
});

test("A message that came for next() is not skipped where the subscription is closed at that moment", async (topic) => {
  const [first, second] = [topic.subscribe(), topic.subscribe()];
  const closing = first.nextBatch().then(() => second.close());
  const next = second.next();
  const ids = await Promise.all([topic.publish(1), topic.publish(2)]);
  await closing;
  const { value } = await next;
  assertEquals([value && "data" in value && value.data, await second.cursor()], [1, ids[0].id]);
  assertEquals(await takeData(topic.subscribe({ after: await second.cursor() ?? "" }), 1), [2]);
});

test("A call of nextBatch() at the moment when messages came for next() gets those after the first", async (topic) => {
  const [first, second] = [topic.subscribe(), topic.subscribe()];
  const rest = first.nextBatch().then(() => second.nextBatch());
  const next = second.next();
  await Promise.all([topic.publish(1), topic.publish(2), topic.publish(3)]);
  const { value } = await next;
  const batch = (await rest)?.map((entry) => "data" in entry && entry.data);
  assertEquals([value && "data" in value && value.data, batch], [1, [2, 3]]);
  second.close();
});
