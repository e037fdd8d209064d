// Scheduled messages over any store: "Delay" in section 3 of the contract of stores. Nodes share the
// data. `testScheduled` is called with each kind of store.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { countScheduled } from "../../src/topics/schedule/scheduled_records.ts";
import type { Topic } from "../../src/topics/topic.ts";
import { Topics } from "../../src/topics/topics.ts";
import { takeMessages } from "./reading.ts";
import type { StoreFixture, StoreKind } from "./store_fixture.ts";

/** A node that has the topic "reminders". */
class Node {
  readonly topics: Topics;
  readonly topic: Topic<number>;

  constructor(fixture: StoreFixture) {
    this.topics = new Topics({ openStore: () => fixture.open() });
    this.topic = this.topics.topic<number>("reminders", { durable: true });
  }

  async scheduled(): Promise<number> {
    return await countScheduled(await this.topics.storeOf(true).openRecords!(), "reminders");
  }
}

/** Registers the tests of scheduled messages over a kind of store. */
export function testScheduled(kind: StoreKind): void {
  function test(title: string, body: (open: () => Promise<Node>) => Promise<void>): void {
    Deno.test(`Scheduled messages over ${kind.name}: ${title}`, async () => {
      await using fixture = await kind.prepare(Date.now);
      // Nodes whose store is shared do not keep the process alive.
      const alive = setInterval(() => {}, 60_000);
      await using _alive = { [Symbol.asyncDispose]: async () => clearInterval(alive) };
      const nodes: Node[] = [];
      await body(async () => {
        const node = new Node(fixture);
        nodes.push(node);
        await node.topics.start();
        return node;
      });
      await Promise.all(nodes.map(({ topics }) => topics.close()));
    });
  }

  test('a message "is published when its time comes", "once", with its type', async (open) => {
    const [one, other] = [await open(), await open()];
    const subscription = other.topic.subscribe();
    await subscription.cursor();
    const scheduled = await one.topic.publish(1, { id: "first", type: "reminder", after: "1s" });
    assertEquals([scheduled.id, scheduled.duplicate], ["first", false]);
    const [message] = await takeMessages(subscription, 1);
    assertEquals([message!.data, message!.type], [1, "reminder"]);
    // By the clock of the store.
    assert(message!.time >= scheduled.at, `${message!.time.toISOString()} is before ${scheduled.at.toISOString()}`);
    await one.topic.publish(2);
    assertEquals((await takeMessages(subscription, 1)).map(({ data }) => data), [2]);
  });

  test('a message "only then has its place in the order"', async (open) => {
    const node = await open();
    const subscription = node.topic.subscribe();
    await Promise.all([
      node.topic.publish(3, { after: "1600ms" }),
      node.topic.publish(2, { after: "800ms" }),
      node.topic.publish(1),
    ]);
    assertEquals((await takeMessages(subscription, 3)).map(({ data }) => data), [1, 2, 3]);
  });

  test('"`topic.cancel(id)` before that"', async (open) => {
    const [one, other] = [await open(), await open()];
    const subscription = one.topic.subscribe();
    const { id } = await one.topic.publish(1, { after: "1h" });
    await one.topic.publish(2, { id: "own", after: "2h" });
    assertEquals(await one.scheduled(), 2);
    assertEquals([await other.topic.cancel(id), await one.topic.cancel(id)], [true, false]);
    assertEquals([await other.topic.cancel("own"), await other.topic.cancel("unknown")], [true, false]);
    assertEquals(await other.scheduled(), 0);
    assertEquals(await one.topics.publishScheduled(), 0);
    await one.topic.publish(3, { id: "own" });
    assertEquals((await takeMessages(subscription, 1)).map(({ data }) => data), [3]);
  });

  test("the id is compared when the message is published", async (open) => {
    const node = await open();
    const subscription = node.topic.subscribe();
    await node.topic.publish(1, { id: "same", after: "1h" });
    const again = await node.topic.publish(2, { id: "same", after: "2h" });
    assert(again.duplicate);
    assert(again.at.getTime() - Date.now() < 3_700_000, "The time is that of the first message");
    await node.topic.publish(3, { id: "same" });
    assertEquals(await node.topics.publishScheduled(), 1);
    await node.topic.publish(4);
    assertEquals((await takeMessages(subscription, 2)).map(({ data }) => data), [3, 4]);
    assertEquals(await node.scheduled(), 0);
  });

  test("a node that has ended leaves its messages to the others", async (open) => {
    const [one, other] = [await open(), await open()];
    const subscription = other.topic.subscribe();
    await subscription.cursor();
    const { at } = await one.topic.publish(1, { after: "2s" });
    await one.topics.close();
    const [message] = await takeMessages(subscription, 1);
    assert(message!.time >= at);
  });

  test("messages that were due while no node ran are published by the next one", async (open) => {
    const one = await open();
    const { at } = await one.topic.publish(1, { after: "100ms" });
    await one.topics.close();
    while (new Date() <= at) await new Promise((resolve) => setTimeout(resolve, 20));
    const next = await open();
    const subscription = next.topic.subscribe({ from: "earliest" });
    assertEquals((await takeMessages(subscription, 1)).map(({ data }) => data), [1]);
  });

  test("a time that has passed means at once", async (open) => {
    const node = await open();
    const subscription = node.topic.subscribe();
    const at = new Date(Date.now() - 60_000);
    const { id, at: given } = await node.topic.publish(1, { at });
    assertEquals(given, at);
    assertEquals((await takeMessages(subscription, 1)).map(({ data }) => data), [1]);
    assertEquals(await node.topic.cancel(id), false);
  });

  test("a message that is too large for a record is refused", async (open) => {
    const node = await open();
    const topic = node.topics.topic<string>("texts", { durable: true });
    await topic.publish("x".repeat(58_000), { after: "1h" });
    await assertRejects(
      () => topic.publish("x".repeat(61_300), { after: "1h" }),
      RangeError,
      "published later may have",
    );
    assertEquals(await node.topics.publishScheduled("texts"), 1);
  });
}
