// Section 6 of the contract of work: "TopicStore is simpler".

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { takeData } from "../../contract/reading.ts";
import { SmallStore } from "../support/small_store.ts";

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
