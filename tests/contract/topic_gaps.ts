// Gaps, over any store: `testTopicGaps` is called with each kind of store.

import { assert, assertEquals } from "@std/assert";
import { take, takeData } from "./reading.ts";
import type { StoreKind } from "./store_fixture.ts";
import { timedTopicTest, topicTest } from "./topic_nodes.ts";

/** Registers the tests of gaps over a kind of store. */
export function testTopicGaps(kind: StoreKind): void {
  const test = topicTest(kind);
  const timed = timedTopicTest(kind);

  test(
    "a subscription that resumes before the oldest message gets a gap, and continues at the oldest",
    { retention: { count: 2 } },
    async (nodes) => {
      const ids: string[] = [];
      for (const data of [1, 2, 3, 4]) ids.push((await nodes.one.publish(data)).id);
      await nodes.trim();
      for (const topic of [nodes.one, nodes.other]) {
        const lost = topic.subscribe({ after: ids[0]! });
        const [gap, ...rest] = await take(lost, 3);
        assertEquals(gap, { gap: { reason: "retention", from: ids[0]!, oldest: ids[2]! } });
        assertEquals(rest.map((entry) => "data" in entry && entry.data), [3, 4]);
        // Such a reader has seen the newest message that was removed: nothing is missing.
        assertEquals(await takeData(topic.subscribe({ after: ids[1]! }), 2), [3, 4]);
        // Between the gap and the next message, no message is missing after the cursor.
        const again = topic.subscribe({ after: ids[0]! });
        assertEquals((await again.nextBatch())?.length, 1);
        assertEquals(await takeData(topic.subscribe({ after: (await again.cursor())! }), 2), [3, 4]);
      }
    },
  );

  test(
    "an id of another incarnation of the topic is a gap, and so is one beyond its end",
    {},
    async ({ one, other, topic }) => {
      const { id: foreign } = await topic("another").publish(0);
      await one.publish(1);
      const { id } = await one.publish(2);
      const ahead = id.slice(0, 9) + "f".repeat(22);
      for (const reader of [one, other]) {
        for (const [reason, after] of [["epoch", foreign], ["ahead", ahead]] as const) {
          const subscription = reader.subscribe({ after });
          const [gap, first, second] = await take(subscription, 3);
          assert(gap && "gap" in gap && first && "id" in first && second && "id" in second);
          assertEquals(gap.gap, { reason, from: after, oldest: first.id });
          assertEquals([first.data, second.data], [1, 2]);
        }
      }
    },
  );

  test(
    "a gap on an empty topic has no oldest message, and later messages are read",
    {},
    async ({ one, other, topic }) => {
      const { id } = await topic("another").publish(0);
      const subscription = other.subscribe({ after: id });
      assertEquals(await take(subscription, 1), [{ gap: { reason: "epoch", from: id, oldest: null } }]);
      await one.publish(1);
      assertEquals(await takeData(subscription, 1), [1]);
    },
  );

  test(
    "a reader that falls behind reads on from the history, without a hole",
    { buffer: 4 },
    async ({ one, other }) => {
      const slow = [one.subscribe(), other.subscribe()];
      await Promise.all(slow.map((subscription) => subscription.cursor()));
      for (let data = 0; data < 100; data++) await one.publish(data);
      for (const subscription of slow) {
        assertEquals(await takeData(subscription, 100), Array.from({ length: 100 }, (_, data) => data));
      }
    },
  );

  test(
    "a reader that falls behind the oldest message gets a gap, and continues",
    { retention: { count: 10 } },
    async ({ one, trim }) => {
      const slow = one.subscribe();
      const first = await one.publish(0);
      assertEquals(await takeData(slow, 1), [0]);
      for (let data = 1; data <= 100; data++) await one.publish(data);
      await trim();
      const [gap, ...rest] = await take(slow, 11);
      assert(gap && "gap" in gap);
      const { reason, from, oldest } = gap.gap;
      assertEquals([reason, from], ["slow", first.id]);
      assertEquals(oldest, "id" in rest[0]! ? rest[0].id : "");
      assertEquals(rest.map((entry) => "data" in entry && entry.data), [91, 92, 93, 94, 95, 96, 97, 98, 99, 100]);
    },
  );

  timed(
    "messages that are too old are not read, and their readers get a gap",
    { retention: { age: "1m" } },
    async (nodes) => {
      const { one, clock } = nodes;
      const idle = one.subscribe();
      const { id } = await one.publish(1);
      const asleep = one.subscribe({ after: id });
      await one.publish(2);
      clock.advance(90_000);
      await one.publish(3);
      const [gap, ...rest] = await take(idle, 2);
      assert(gap && "gap" in gap);
      assertEquals([gap.gap.reason, rest.map((entry) => "data" in entry && entry.data)], ["slow", [3]]);
      const [gapAsleep] = await take(asleep, 1);
      assertEquals(gapAsleep && "gap" in gapAsleep && gapAsleep.gap.reason, "retention");
    },
  );

  timed(
    "messages that are too old are not read, also if nothing is published",
    { retention: { age: "1m" } },
    async (nodes) => {
      const subscribe = () => [nodes.one.subscribe(), nodes.other.subscribe()];
      const [readers, first] = [subscribe(), subscribe()];
      await Promise.all([...readers, ...first].map((reader) => reader.cursor()));
      // The process keeps what some readers have read for the others.
      const reading = first.map((reader) => takeData(reader, 1));
      await nodes.one.publish(1);
      assertEquals(await Promise.all(reading), [[1], [1]]);
      nodes.clock.advance(90_000);
      for (const reader of readers) {
        const [gap] = await take(reader, 1);
        assert(gap && "gap" in gap);
        assertEquals([gap.gap.reason, gap.gap.oldest], ["slow", null]);
      }
      await nodes.one.publish(2);
      for (const reader of readers) assertEquals(await takeData(reader, 1), [2]);
    },
  );

  test(
    "a reader that resumed in time and falls behind later is slow",
    { retention: { count: 2 } },
    async ({ one, trim }) => {
      const { id } = await one.publish(1);
      await one.publish(2);
      const reader = one.subscribe({ after: id });
      assertEquals(await takeData(reader, 1), [2]);
      for (const data of [3, 4, 5]) await one.publish(data);
      await trim();
      const [gap] = await take(reader, 1);
      assertEquals(gap && "gap" in gap && gap.gap.reason, "slow");
    },
  );
}
