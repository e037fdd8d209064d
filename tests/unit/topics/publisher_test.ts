import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { MemoryStore } from "../../../src/topics/memory_store.ts";
import { PublishOutcomeUnknown } from "../../../src/topics/publish_outcome_unknown.ts";
import type { AppendOptions } from "../../../src/topics/store.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { Clock } from "../../contract/clock.ts";
import { FaultyStore } from "../../contract/faulty_store.ts";
import { Gate } from "../../contract/gate.ts";

Deno.test("Messages without much data do not fill the memory either while a store hangs", async () => {
  const store = new FaultyStore(new MemoryStore());
  const gate = new Gate();
  store.faults = { beforeAppend: gate.pass };
  const topics = new Topics({ openStore: () => store });
  const topic = topics.topic<number>("numbers", { retention: { count: 10 } });
  const first = topic.publish(0);
  await gate.reached;
  const publishing = Array.from({ length: 200_000 }, (_, number) => topic.publish(number));
  gate.open();
  const outcomes = await Promise.allSettled([first, ...publishing]);
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  assert(refused.length > 0);
  const message = 'Cannot publish to the topic "numbers": ';
  assertEquals(new Set(refused.map(({ reason }) => String(reason).includes(message))), new Set([true]));
  // Those that were refused take no room.
  assertEquals((await topic.publish(1)).duplicate, false);
  await topics.close();
});

Deno.test("Batches are of one series as long as everybody knows what became of theirs, and no minute passes between them", async () => {
  const clock = new Clock();
  const store = new FaultyStore(new MemoryStore());
  const appended: AppendOptions[] = [];
  let fault = (): void => {};
  store.faults = {
    beforeAppend: (_, options) => {
      appended.push(options);
      fault();
    },
  };
  const topics = new Topics({ openStore: () => store, now: clock.now });
  const topic = topics.topic<number>("numbers");

  await Promise.all([0, 1, 2].map((number) => topic.publish(number)));
  await topic.publish(3);
  clock.advance(60_000);
  await topic.publish(4);
  clock.advance(60_001);
  await topic.publish(5);
  // One of two leaves: what became of the other one's is known.
  const leaving = new AbortController();
  fault = () => leaving.abort();
  const [stays, leaves] = await Promise.allSettled([
    topic.publish(6),
    topic.publish(7, { signal: leaving.signal }),
  ]);
  assertEquals(stays.status, "fulfilled");
  assertInstanceOf(leaves.status === "rejected" && leaves.reason, PublishOutcomeUnknown);
  fault = () => {
    throw new Error("The store has failed");
  };
  const error = await assertRejects(() => topic.publish(8), PublishOutcomeUnknown);
  fault = () => {};
  await topic.publish(9);
  await topic.publish(10);

  const continues = appended.map(({ series }, index) => series === appended[index - 1]?.series);
  assertEquals(continues, [false, true, true, false, true, false, false, true]);
  assertEquals(appended.map(({ first }) => first), [0, 3, 4, 0, 1, 0, 0, 1]);
  assertEquals(error.id, `${appended[5]!.series}.0`);
  await topics.close();
});
