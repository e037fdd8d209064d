// What publishing promises when the store fails, is slow, or loses replies. `testPublishFaults` is
// called with each kind of store.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { PublishOutcomeUnknownError } from "../../src/topics/publisher.ts";
import type { Topic } from "../../src/topics/topic.ts";
import { fail, faultyTopicTest, StoreFailure } from "./faulty_topic.ts";
import { Gate } from "./gate.ts";
import { take, takeData } from "./reading.ts";
import type { StoreKind } from "./store_fixture.ts";

/** Registers the tests of publishing over a kind of store that fails. */
export function testPublishFaults(kind: StoreKind): void {
  const test = faultyTopicTest(kind);

  test("a publish that the store refuses has an unknown outcome, and can be repeated", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    store.faults = { beforeAppend: fail };
    const error = await assertRejects(() => topic.publish(1, { id: "one" }), PublishOutcomeUnknownError);
    assertEquals(error.id, "one");
    assert(error.cause instanceof StoreFailure);
    assertStringIncludes(error.message, 'publish it again with the id "one"');
    store.faults = {};
    assertEquals((await topic.publish(1, { id: error.id })).duplicate, false);
    assertEquals(await takeData(subscription, 1), [1]);
  });

  test("a publish whose reply is lost is one message when it is repeated", async ({ topic, store }) => {
    const subscription = topic.subscribe();
    store.faults = { afterAppend: fail };
    const error = await assertRejects(() => topic.publish(1, { id: "one" }), PublishOutcomeUnknownError);
    store.faults = {};
    const { id, duplicate } = await topic.publish(1, { id: error.id });
    assertEquals(duplicate, true);
    await topic.publish(2);
    const [first, second] = await take(subscription, 2);
    assertEquals([first && "id" in first && first.id, second && "data" in second && second.data], [id, 2]);
  });

  test("after a lost reply, each publisher of a batch gets an error with the id of its own message", async (setting) => {
    setting.store.faults = { afterAppend: fail };
    const publishing = ["a", "b", "c"].map((id) => assertRejects(() => setting.topic.publish(0, { id })));
    const errors = await Promise.all(publishing);
    assertEquals(errors.map((error) => error instanceof PublishOutcomeUnknownError && error.id), ["a", "b", "c"]);
    assertEquals(setting.store.batches, [3]);
  });

  test("a publish that is aborted after it was stored can be repeated, with or without an id", async (setting) => {
    const { topic, store } = setting;
    for (const id of ["one", undefined]) {
      const gate = new Gate();
      store.faults = { afterAppend: gate.pass };
      const controller = new AbortController();
      const { signal } = controller;
      const publishing = assertRejects(() => topic.publish(1, { signal, ...id && { id } }), PublishOutcomeUnknownError);
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

  test("a publish that is aborted before it is sent stores nothing", async ({ topic, store }) => {
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

  test("an append is aborted when the last publisher of its batch has aborted, and not before", async ({ topic, store }) => {
    const gate = new Gate();
    let given: AbortSignal | undefined;
    store.faults = {
      beforeAppend: (_messages, { signal }) => {
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

  test("there is one append at a time, and it takes all messages that wait", async ({ topic, store }) => {
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

  test("a batch has no more bytes than the store takes", async ({ topic, store }) => {
    const { maxMessageBytes, maxBatchBytes } = store.capabilities;
    const perBatch = Math.floor(maxBatchBytes / maxMessageBytes);
    const text = "x".repeat(maxMessageBytes - 2);
    const large = topic as Topic<unknown> as Topic<string>;
    await Promise.all(Array.from({ length: 2 * perBatch + 1 }, () => large.publish(text)));
    assertEquals(store.batches, [perBatch, perBatch, 1]);
  });

  test("types count in the size of a batch", async ({ topic, store }) => {
    const { maxBatchMessages, maxBatchBytes } = store.capabilities;
    const type = "ä".repeat(256);
    const perBatch = Math.min(maxBatchMessages, Math.floor(maxBatchBytes / (512 + 1)));
    await Promise.all(Array.from({ length: perBatch + 1 }, () => topic.publish(1, { type })));
    assertEquals(store.batches, [perBatch, 1]);
  });
}
