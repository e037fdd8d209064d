import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { TopicLog } from "../../../src/topics/topic_log.ts";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import { FaultyStore } from "../../contract/faulty_store.ts";
import { append, logOf, messageOf } from "../../contract/store_fixture.ts";

const LOG = logOf("numbers");

Deno.test("Concurrent reads at one position are merged, and later ones see new messages", async () => {
  const store = new FaultyStore(new MemoryStore());
  const reader = new TopicLog<number>(() => store, LOG);
  const { lowWatermark } = await reader.bounds();
  await append(store, LOG, [messageOf(1)]);
  const [first, same, own] = await Promise.all([
    reader.readShared(lowWatermark),
    reader.readShared(lowWatermark),
    reader.readLive(lowWatermark),
  ]);
  assertStrictEquals(first, same);
  assertEquals([own, store.reads], [first, 2]);
  await append(store, LOG, [messageOf(2)]);
  const later = await reader.readShared(lowWatermark);
  assertEquals(later.messages.map(({ data }) => data), [1, 2]);
  assertEquals([later.sizes, later.highWatermark], [[1, 1], later.messages[1]!.id]);
});

Deno.test("A read that has failed is repeated by the next call", async () => {
  const store = new FaultyStore(new MemoryStore());
  const reader = new TopicLog<number>(() => store, LOG);
  const { lowWatermark } = await reader.bounds();
  store.faults = {
    beforeRead: () => {
      throw new Error("Cannot reach the store");
    },
  };
  for (let turn = 0; turn < 2; turn++) {
    await assertRejects(() => reader.readShared(lowWatermark), Error, "Cannot reach");
  }
  store.faults = {};
  assertEquals((await reader.readShared(lowWatermark)).messages, []);
});
