// What topics promise over any store: `testTopics` is called with each kind of store. Two nodes
// share the data.

import { assert, assertEquals, assertNotStrictEquals, assertRejects, assertStrictEquals } from "@std/assert";
import type { TopicEntry } from "../../src/topics/message.ts";
import type { Subscription } from "../../src/topics/subscription.ts";
import { Random } from "../unit/support/random.ts";
import { take, takeData } from "./reading.ts";
import type { StoreKind } from "./store_fixture.ts";
import { timedTopicTest, topicTest } from "./topic_nodes.ts";

/**
 * Registers the tests of topics over a kind of store: their order, and where reading begins and
 * ends.
 */
export function testTopics(kind: StoreKind): void {
  const test = topicTest(kind);
  const timed = timedTopicTest(kind);

  test("a subscription is live from the call", {}, async ({ one, other }) => {
    await one.publish(0);
    const early = [one.subscribe(), other.subscribe()];
    // Another node has to know the end of the log before the next message comes.
    await early[1]!.cursor();
    await one.publish(1);
    const late = one.subscribe();
    await Promise.all([2, 3].map((data) => one.publish(data)));
    for (const subscription of early) assertEquals(await takeData(subscription, 3), [1, 2, 3]);
    assertEquals(await takeData(late, 2), [2, 3]);
  });

  test(
    "a message has the id that its publisher got, its type and its data",
    {},
    async ({ one, other }) => {
      const subscription = other.subscribe();
      await subscription.cursor();
      const { id, duplicate } = await one.publish(7, { type: "seven" });
      assertEquals(duplicate, false);
      const [message] = await take(subscription, 1);
      assert(message && "data" in message);
      assertEquals([message.id, message.type, message.data], [id, "seven", 7]);
    },
  );

  timed("a message has the time at which it was published", {}, async ({ one, other, clock }) => {
    await one.publish(1);
    const [message] = await take(other.subscribe({ from: "earliest" }), 1);
    assertEquals(message && "data" in message && message.time, new Date(clock.now()));
  });

  test("all readers see one order, in which each publisher's messages are in its own", {}, async ({ one, other }) => {
    const readers = [one, other, one, other].map((topic) => topic.subscribe());
    await Promise.all(readers.map((reader) => reader.cursor()));
    const publishers = [one, other].flatMap((topic, node) =>
      Array.from({ length: 4 }, async (_, index) => {
        const base = (node * 4 + index) * 100;
        for (let count = 0; count < 20; count++) await topic.publish(base + count);
      })
    );
    const [first, ...rest] = await Promise.all(readers.map((reader) => takeData(reader, 160)));
    await Promise.all(publishers);
    for (const seen of rest) assertEquals(seen, first);
    for (let base = 0; base < 800; base += 100) {
      const own = first!.filter((data) => data >= base && data < base + 100);
      assertEquals(own, Array.from({ length: 20 }, (_, count) => base + count));
    }
  });

  test("calls of publish that are not awaited keep their order", {}, async ({ one }) => {
    const subscription = one.subscribe();
    const results = await Promise.all(Array.from({ length: 500 }, (_, data) => one.publish(data)));
    assertEquals(await takeData(subscription, 500), Array.from({ length: 500 }, (_, data) => data));
    const ids = results.map(({ id }) => id);
    assertEquals(ids, [...new Set(ids)].sort());
  });

  test("a message that is published twice with its id is one message with one id", {}, async ({ one, other }) => {
    const subscription = one.subscribe();
    // What another node publishes meanwhile may come before its position.
    await subscription.cursor();
    for (let round = 0; round < 10; round++) {
      const publishing = [one, other, one, other].map((topic) => topic.publish(round, { id: `round ${round}` }));
      const results = await Promise.all(publishing);
      assertEquals(new Set(results.map(({ id }) => id)).size, 1);
      assertEquals(results.filter(({ duplicate }) => !duplicate).length, 1);
    }
    await one.publish(10);
    assertEquals(await takeData(subscription, 11), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("a subscription that resumes gets exactly what followed, on any node", {}, async ({ one, other }) => {
    const start = await one.head();
    const ids = [start];
    for (let data = 1; data <= 8; data++) ids.push((await one.publish(data)).id);
    for (const [index, after] of ids.entries()) {
      for (const topic of [one, other]) {
        await using subscription = topic.subscribe({ after });
        const rest = [1, 2, 3, 4, 5, 6, 7, 8].slice(index);
        assertEquals(await takeData(subscription, rest.length), rest);
        assertEquals(await subscription.cursor(), ids.at(-1));
      }
    }
  });

  test("no message is missing between replayed and live messages", { buffer: 3 }, async ({ one, other }) => {
    const first = await one.publish(0);
    const publishing = (async () => {
      for (let data = 1; data < 200; data++) await one.publish(data);
    })();
    const expected = Array.from({ length: 199 }, (_, index) => index + 1);
    const reading = Array.from({ length: 20 }, async (_, index) => {
      const subscription = (index % 2 ? one : other).subscribe({ after: first.id });
      // Each lags by as many turns as its number.
      for (let turn = 0; turn < index; turn++) await Promise.resolve();
      assertEquals(await takeData(subscription, 199), expected);
    });
    await Promise.all([publishing, ...reading]);
  });

  test(
    "a reader that is cut off and resumes at any message gets each message once",
    {},
    async (nodes) => {
      const random = new Random(3);
      const { id } = await nodes.one.publish(0);
      const seen: number[] = [];
      let after = id;
      for (let data = 1; data <= 60; data++) {
        await random.pick([nodes.one, nodes.other]).publish(data);
        if (!random.oneIn(4)) continue;
        const subscription = random.pick([nodes.one, nodes.other]).subscribe({ after });
        seen.push(...await takeData(subscription, 1 + random.below(data - seen.length)));
        await subscription.return();
        after = (await subscription.cursor())!;
      }
      const last = nodes.other.subscribe({ after });
      if (seen.length < 60) seen.push(...await takeData(last, 60 - seen.length));
      assertEquals(seen, Array.from({ length: 60 }, (_, index) => index + 1));
    },
  );

  timed("a subscription can begin at the oldest message, or at the first of a time", {}, async (nodes) => {
    const { one, other, clock } = nodes;
    const start = clock.now();
    for (const data of [1, 2, 3]) {
      await one.publish(data);
      clock.advance(1000);
    }
    for (const topic of [one, other]) {
      assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 3), [1, 2, 3]);
      assertEquals(await takeData(topic.subscribe({ from: new Date(start + 1) }), 2), [2, 3]);
      const now = topic.subscribe({ from: "now" });
      const future = topic.subscribe({ from: new Date(clock.now() + 1) });
      await Promise.all([now.cursor(), future.cursor()]);
      await one.publish(4);
      for (const subscription of [now, future]) assertEquals(await takeData(subscription, 1), [4]);
    }
  });

  test("readers at the same position get the same list, live and from the history", {}, async ({ one }) => {
    const first = await one.publish(0);
    await one.publish(1);
    const history = [1, 2, 3].map(() => one.subscribe({ after: first.id }));
    const replayed = await Promise.all(history.map((subscription) => subscription.nextBatch()));
    assertEquals(replayed[0]?.length, 1);
    for (const batch of replayed) assertStrictEquals(batch, replayed[0]);

    const live = [1, 2, 3].map(() => one.subscribe());
    const reading = [...live, ...history].map((subscription) => subscription.nextBatch());
    await one.publish(2);
    const batches = await Promise.all(reading);
    for (const batch of batches) assertStrictEquals(batch, batches[0]);
    const elsewhere = await one.subscribe({ after: first.id }).nextBatch();
    assertNotStrictEquals(elsewhere, batches[0]);
  });

  test("head is the newest id, and on an empty topic the id to resume from", {}, async ({ one, other }) => {
    const empty = await other.head();
    const { id } = await one.publish(1);
    assertEquals(await other.head(), id);
    assertEquals(await takeData(one.subscribe({ after: empty }), 1), [1]);
  });

  for (const [means, end] of Object.entries(endings())) {
    test(`a subscription ends by ${means}, also one that waits, and no other does`, {}, async ({ one }) => {
      const controller = new AbortController();
      const { signal } = controller;
      const [waiting, busy] = [one.subscribe({ signal }), one.subscribe({ signal })];
      const lasting = one.subscribe();
      for (const data of [1, 2]) await one.publish(data);
      assertEquals([await takeData(waiting, 2), await takeData(busy, 1)], [[1, 2], [1]]);
      const next = waiting.next();
      await Promise.all([end(waiting, controller), end(busy, controller)]);
      assertEquals(await next, { done: true, value: undefined });
      await one.publish(3);
      for (const subscription of [waiting, busy]) {
        assertEquals(await subscription.nextBatch(), undefined);
        assertEquals(await subscription.next(), { done: true, value: undefined });
      }
      assertEquals(await takeData(lasting, 3), [1, 2, 3]);
    });
  }

  test("leaving a loop ends the subscription, with what it has not read", {}, async ({ one }) => {
    const subscription = one.subscribe();
    await Promise.all([1, 2, 3].map((data) => one.publish(data)));
    for await (const entry of subscription) {
      assertEquals("data" in entry && entry.data, 1);
      break;
    }
    assertEquals(await subscription.next(), { done: true, value: undefined });
  });

  test("of two concurrent reads, the second is refused, and the first continues", {}, async ({ one }) => {
    const subscription = one.subscribe();
    const waiting = subscription.nextBatch();
    await assertRejects(() => subscription.nextBatch(), TypeError, "another read is waiting");
    await one.publish(1);
    assertEquals((await waiting)?.length, 1);
  });

  test("calls of next that are not awaited give one entry each", {}, async ({ one }) => {
    const subscription = one.subscribe();
    const waiting = [1, 2, 3].map(() => subscription.next());
    for (const data of [1, 2, 3]) await one.publish(data);
    const entries = (await Promise.all(waiting)).map(({ value }) => value as TopicEntry<number>);
    assertEquals(entries.map((entry) => "data" in entry && entry.data), [1, 2, 3]);
  });

  test("whatever is published and read in whatever order, no reader misses a message without a gap", {
    retention: { count: 40 },
    buffer: 5,
  }, async ({ one, other }) => {
    const random = new Random(5);
    const history: string[] = [];
    const readers: { subscription: Subscription<number>; last: string | undefined }[] = [];
    for (let step = 0; step < 400; step++) {
      const topic = random.pick([one, other]);
      if (random.oneIn(2)) {
        const burst = Array.from({ length: 1 + random.below(random.oneIn(10) ? 60 : 4) }, () => topic.publish(step));
        history.push(...(await Promise.all(burst)).map(({ id }) => id));
      } else if (readers.length < 6 || random.oneIn(8)) {
        const after = history.length > 0 && random.oneIn(2) ? random.pick(history) : undefined;
        const subscription = topic.subscribe(after === undefined ? {} : { after });
        readers.push({ subscription, last: await subscription.cursor() });
      } else {
        const reader = random.pick(readers);
        // There is something to read, or nothing is asked for.
        if (history.length === 0 || reader.last! >= history.at(-1)!) continue;
        for (const entry of (await reader.subscription.nextBatch())!) {
          if ("gap" in entry) {
            const { from, oldest } = entry.gap;
            assertEquals(from, reader.last);
            assert(oldest !== null && history.indexOf(oldest) > history.indexOf(from) + 1, "Nothing was missing");
            reader.last = history[history.indexOf(oldest) - 1]!;
          } else {
            assertEquals(entry.id, history[history.indexOf(reader.last!) + 1]);
            reader.last = entry.id;
          }
        }
      }
    }
  });
}

/** The ways to end a subscription. */
function endings(): Record<string, (subscription: Subscription<number>, controller: AbortController) => unknown> {
  return {
    "close()": (subscription) => subscription.close(),
    "return()": (subscription) => subscription.return(),
    "its signal": (_subscription, controller) => controller.abort(),
    "disposal": (subscription) => subscription[Symbol.asyncDispose](),
  };
}
