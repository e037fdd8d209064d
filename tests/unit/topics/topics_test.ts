import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import * as v from "valibot";
import { inVirtualTime } from "../../../dev/faults/simulation/virtual_time.ts";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import { PublishOutcomeUnknownError } from "../../../src/topics/publisher.ts";
import { Topics, type TopicsOptions } from "../../../src/topics/topics.ts";
import { FaultyStore } from "../../contract/faulty_store.ts";
import { Clock } from "../../contract/clock.ts";
import { Gate } from "../../contract/gate.ts";
import { take, takeData } from "../../contract/reading.ts";
import { Random } from "../support/random.ts";
import { ticks } from "../../spec/support/ticks.ts";

function topicsOf(options: Partial<TopicsOptions> = {}): Topics {
  return new Topics({ openStore: () => new MemoryStore(), ...options });
}

Deno.test("A name has one topic, and another name another one", () => {
  const topics = topicsOf();
  const topic = topics.topic("a", { schema: v.string() });
  assertStrictEquals(topics.topic("a"), topic as unknown);
  assertNotStrictEquals(topics.topic("b"), topic as unknown);
  assertEquals([topic.name, topics.topic("__proto__").name], ["a", "__proto__"]);
});

Deno.test("A name must be a string of 1 to 256 characters", () => {
  const topics = topicsOf();
  for (const name of ["", "x".repeat(257), "\ud800", 5, undefined, null]) {
    assertThrows(() => topics.topic(name as string), TypeError, "its name must be a string of 1 to 256 characters");
  }
  assertEquals(topics.topic("x".repeat(256)).name.length, 256);
});

Deno.test("A topic that was used without options cannot get options later", () => {
  const topics = topicsOf();
  topics.topic("a");
  topics.topic("a", {});
  assertThrows(() => topics.topic("a", { schema: v.string() }), TypeError, "give the same options everywhere");
});

Deno.test("The clock of the store decides which messages are too old, not that of this process", async () => {
  const clock = new Clock();
  const store = Object.assign(new MemoryStore({ now: clock.now }), { now: clock.now });
  const start = clock.now();
  // The clock of the process is stopped.
  const topics = topicsOf({ openStore: () => store, now: () => start });
  const topic = topics.topic<number>("a", { retention: { age: "1h" } });
  const follower = topic.subscribe();
  const slow = topic.subscribe();
  const following = follower.next();
  await slow.cursor();
  await topic.publish(1);
  await following;
  clock.advance(3_600_001);
  await topic.publish(2);
  assertEquals((await take(slow, 2)).map((entry) => "gap" in entry ? entry.gap.reason : entry.data), ["slow", 2]);
  await topics.close();
});

Deno.test("Nothing opens the store but the use of a topic", async () => {
  let opened = 0;
  const topics = topicsOf({ openStore: () => (opened++, new MemoryStore()) });
  topics.topic("a", { retention: { age: "1h" } });
  await topics.close();
  assertEquals(opened, 0);
  await topics.topic("a").head();
  await topics.topic("b").head();
  assertEquals(opened, 1);
  await topics.close();
});

Deno.test("While the application serves, unused topics are dropped beyond a number", async () => {
  const topics = topicsOf({ maxIdle: 20 });
  const declared = topics.topic("declared", { buffer: 5 });
  topics.serve();
  const used = topics.topic("used", { buffer: 5 });
  const subscription = used.subscribe();
  const idle = topics.topic("idle", { buffer: 5 });
  await idle.publish("kept");
  for (let number = 0; number < 100; number++) topics.topic(`room ${number}`);
  assertStrictEquals(topics.topic("declared"), declared);
  assertStrictEquals(topics.topic("used"), used);
  const again = topics.topic("idle", { buffer: 6 });
  assertNotStrictEquals(again, idle);
  // Only the entry was dropped: the object is still the same topic.
  assertEquals(await takeData(idle.subscribe({ from: "earliest" }), 1), ["kept"]);
  const both = [idle.subscribe(), again.subscribe()];
  await again.publish("new");
  for (const reader of both) assertEquals(await takeData(reader, 1), ["new"]);
  subscription.close();
  await topics.close();
});

Deno.test("The most recently used topic is dropped last", () => {
  const topics = topicsOf({ maxIdle: 2 });
  topics.serve();
  const [a, b] = [topics.topic("a"), topics.topic("b")];
  topics.topic("a");
  topics.topic("c");
  assertStrictEquals(topics.topic("a"), a);
  assertNotStrictEquals(topics.topic("b"), b);
});

Deno.test("Closing ends subscriptions, waits for publishes in progress, and drops messages in memory", async () => {
  const stores: FaultyStore[] = [];
  const openStore = () => {
    stores.push(new FaultyStore(new MemoryStore()));
    return stores.at(-1)!;
  };
  const topics = topicsOf({ openStore });
  const topic = topics.topic<number>("a");
  const subscription = topic.subscribe();
  const { id } = await topic.publish(1);
  const gate = new Gate();
  stores[0]!.faults = { beforeAppend: gate.pass };
  const publishing = topic.publish(2);
  await gate.reached;
  const closing = topics.close();
  // A subscription now would delay the end.
  assertEquals(await topic.subscribe().nextBatch(), undefined);
  gate.open();
  await Promise.all([closing, publishing]);
  assertEquals(await subscription.next(), { done: true, value: undefined });

  await topic.publish(3);
  const [gap, next] = await take(topic.subscribe({ after: id }), 2);
  assert(gap && "gap" in gap && next && "data" in next);
  assertEquals([gap.gap.reason, next.data, stores.length], ["epoch", 3, 2]);
  await topics.close();
});

Deno.test("A topic that was dropped is closed like the others", async () => {
  const topics = topicsOf({ maxIdle: 1 });
  topics.serve();
  const held = topics.topic("a");
  for (const name of ["b", "c"]) topics.topic(name);
  const waiting = held.subscribe().nextBatch();
  await topics.close();
  assertEquals(await waiting, undefined);
});

Deno.test("A store that cannot be opened fails each use of it", async () => {
  const topics = topicsOf({
    openStore: () => {
      throw new Error("Cannot open the store");
    },
  });
  await assertRejects(() => topics.topic("a").publish(1), Error, "Cannot open the store");
  await topics.close();
});

Deno.test("Nothing is appended before the start positions of all earlier subscriptions are known", async () => {
  const store = new FaultyStore(new MemoryStore());
  const topics = topicsOf({ openStore: () => store });
  const topic = topics.topic<number>("a");
  // A subscription that is not read keeps the follower behind, so later ones must ask the store
  // for the end of the log.
  const idle = topic.subscribe();
  await idle.cursor();
  await topic.publish(1);

  const gates = [new Gate(), new Gate(), new Gate()] as const;
  const held = [...gates];
  store.faults = { beforeBounds: () => held.shift()?.pass() };
  const first = topic.subscribe();
  const second = topic.subscribe();
  gates[1].open();
  const published = [topic.publish(2)];
  // The first publish waits for the first two subscriptions, and not for the third.
  await second.cursor();
  const third = topic.subscribe();
  let isStored = false;
  published.push(topic.publish(3).finally(() => isStored = true));
  gates[0].open();
  await published[0];
  await ticks(1);
  assert(!isStored);
  gates[2].open();
  await Promise.all(published);

  assertEquals(await takeData(first, 2), [2, 3]);
  assertEquals(await takeData(second, 2), [2, 3]);
  assertEquals(await takeData(third, 1), [3]);
  await topics.close();
});

Deno.test("When a log cannot be read, its end is asked for once, and a publish waits for no more", async () => {
  const store = new FaultyStore(new MemoryStore());
  const topics = topicsOf({ openStore: () => store });
  const topic = topics.topic<number>("a");
  let asked = 0;
  store.faults = {
    beforeBounds: () => {
      asked++;
      throw new Error("away");
    },
  };
  const subscription = topic.subscribe();
  await topic.publish(1);
  await assertRejects(() => subscription.next(), Error, "away");
  assertEquals(asked, 1);
  await topics.close();
});

Deno.test("A late read of an incarnation that has ended moves no reader of the next one", async () => {
  const store = new FaultyStore(new MemoryStore());
  const topics = topicsOf({ openStore: () => store });
  const topic = topics.topic<number>("a");
  const before = topic.subscribe();
  await before.cursor();
  const waiting = before.nextBatch();
  const gate = new Gate();
  store.faults = { afterRead: gate.pass };
  await topic.publish(1);
  await gate.reached;

  store.faults = {};
  store.inner = new MemoryStore();
  await topic.publish(2);
  const after = topic.subscribe({ from: "earliest" });
  assertEquals(await takeData(after, 1), [2]);
  const next = after.nextBatch();
  gate.open();
  await ticks(1);
  await topic.publish(3);
  for (const wake of store.watchers) wake();

  assertEquals((await next)?.map((entry) => "data" in entry ? entry.data : entry), [3]);
  assertEquals((await waiting)?.map((entry) => "gap" in entry && entry.gap.reason), ["epoch"]);
  await topics.close();
});

const NOT_SENT = 'Cannot publish to the topic "a": the store did not answer in time, nothing is stored';

Deno.test("Abandoned publishes fail: sent messages may be stored, others are not", async () => {
  const store = new FaultyStore(new MemoryStore());
  const topics = topicsOf({ openStore: () => store });
  const topic = topics.topic<number>("a");
  const sending = new Gate();
  const looking = new Gate();
  store.faults = { beforeAppend: sending.pass, beforeBounds: looking.pass };
  const sent = assertRejects(() => topic.publish(1, { id: "one" }), PublishOutcomeUnknownError);
  await sending.reached;
  const waiting = assertRejects(() => topic.publish(2), Error, NOT_SENT);
  const subscription = topic.subscribe();
  const held = assertRejects(() => topic.publish(3), Error, NOT_SENT);
  topics.abort();
  const { id, cause } = await sent;
  const reason = "Cannot wait for the store any longer: the application stops";
  assertEquals([id, (cause as Error).message], ["one", reason]);
  for (const error of await Promise.all([waiting, held])) assertEquals((error.cause as Error).message, reason);
  // A store that works again stores what is published at the last moment.
  store.faults = {};
  looking.open();
  await subscription.cursor();
  assertEquals((await topic.publish(4)).duplicate, false);
  await topics.close();
  sending.open();
});

Deno.test("A publish that waits for a start position is abandoned, too", async () => {
  const store = new FaultyStore(new MemoryStore());
  const topics = topicsOf({ openStore: () => store });
  const topic = topics.topic<number>("a");
  const gate = new Gate();
  store.faults = { beforeBounds: gate.pass };
  const subscription = topic.subscribe();
  const held = assertRejects(() => topic.publish(1), Error, NOT_SENT);
  await gate.reached;
  topics.abort();
  await held;
  // The close does not wait for the subscription.
  await topics.close();
  gate.open();
  assertEquals(await subscription.next(), { done: true, value: undefined });
});

Deno.test("Closing waits for 30 s at most, also if a program publishes again and again", async () => {
  await inVirtualTime(new Random(1), async () => {
    const stores: FaultyStore[] = [];
    const openStore = () => {
      const store = new FaultyStore(new MemoryStore());
      store.faults = stores.length > 0 ? {} : { beforeAppend: () => new Promise(() => {}) };
      stores.push(store);
      return store;
    };
    const topics = topicsOf({ openStore });
    const topic = topics.topic<number>("a");
    const publishSurely = (id?: string): Promise<unknown> =>
      topic.publish(1, id === undefined ? {} : { id }).catch((error: PublishOutcomeUnknownError) =>
        publishSurely(error.id)
      );
    const publishing = publishSurely("one");
    const begin = performance.now();
    await topics.close();
    assertEquals(performance.now() - begin, 30_000);
    // The application may be in use again by then.
    await publishing;
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 1), [1]);
    await topics.close();
    assertEquals(performance.now() - begin, 30_000);
  });
});

Deno.test("A publish after the others were abandoned has a second, and no longer than until the topics are closed", async () => {
  await inVirtualTime(new Random(1), async () => {
    const store = new FaultyStore(new MemoryStore());
    const topics = topicsOf({ openStore: () => store });
    const topic = topics.topic<number>("a");
    topics.abort();
    store.faults = { beforeAppend: () => new Promise(() => {}) };
    const begin = performance.now();
    await assertRejects(() => topic.publish(1), PublishOutcomeUnknownError);
    assertEquals(performance.now() - begin, 1_000);
    const last = assertRejects(() => topic.publish(2), PublishOutcomeUnknownError);
    await ticks(1);
    await topics.close();
    await last;
    assertEquals(performance.now() - begin, 1_000);
  });
});
