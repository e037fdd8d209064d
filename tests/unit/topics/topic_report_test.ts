// The report on a store for operators.

import { assertEquals, assertRejects } from "@std/assert";
import { toId, toPosition } from "../../../src/topics/message.ts";
import { LOG_START, type LogRef, type TopicStore } from "../../../src/store/topic_store.ts";
import { reportTopics } from "../../../src/topics/topic_report.ts";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import { FILE } from "../../contract/kv/file_store.ts";
import { append, messageOf } from "../../contract/store_fixture.ts";

const SECOND = 1_000;

function log(name: string): LogRef {
  return { name, policy: { age: 60 * SECOND, count: Infinity, bytes: 1_000_000, dedupe: SECOND } };
}

Deno.test("A report counts the kept messages, and how far behind a reader is", async () => {
  let time = 1_700_000_000_000;
  await using prepared = await FILE.prepare(() => time);
  const store = prepared.open();
  const publish = async (name: string, data: unknown) => {
    const { incarnation, outcomes } = await append(store, log(name), [messageOf(data)]);
    return toId(incarnation, outcomes[0]!.cursor);
  };
  const gone = await publish("b", 1);
  time += 50 * SECOND;
  const first = await publish("b", 22);
  time += 5 * SECOND;
  const second = await publish("b", 333);
  await publish("a", 4444);

  const all = await reportTopics(store, gone);
  assertEquals(all.map(({ name, messages, bytes }) => [name, messages, bytes]), [["a", 1, 4], ["b", 3, 6]]);
  assertEquals(all.map(({ lag }) => lag), [undefined, { messages: 2, gap: undefined }]);
  assertEquals(all[1]!.head, second);
  assertEquals(all[1]!.retention, { age: 60 * SECOND, count: Infinity, bytes: 1_000_000 });

  time += 10 * SECOND;
  const [, b] = await reportTopics(store, first);
  assertEquals([b!.messages, b!.oldest?.getTime(), b!.newest?.getTime()], [2, time - 15 * SECOND, time - 10 * SECOND]);
  assertEquals(b!.lag, { messages: 1, gap: undefined });

  const early = toId(toPosition(first).incarnation, "0".repeat(22));
  assertEquals((await reportTopics(store, early))[1]!.lag, { messages: 2, gap: "retention" });
  const ahead = toId(toPosition(first).incarnation, "f".repeat(22));
  assertEquals((await reportTopics(store, ahead))[1]!.lag, { messages: 0, gap: "ahead" });

  time += 600 * SECOND;
  const [, empty] = await reportTopics(store, first);
  assertEquals([empty!.messages, empty!.oldest, empty!.head], [0, undefined, second]);
});

Deno.test("A topic that cannot be read does not keep a report from the others; a store that fails does", async () => {
  await using prepared = await FILE.prepare(Date.now);
  const store = prepared.open();
  const heads: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const { incarnation, outcomes } = await append(store, log(name), [messageOf(1)]);
    heads.push(toId(incarnation, outcomes[0]!.cursor));
  }
  const failing = (error: Error): TopicStore => {
    const read: TopicStore["read"] = async (log, after, limits) => {
      const isFailing = log.name === "a" || log.name === "b" && after !== LOG_START;
      return isFailing ? await Promise.reject(error) : await store.read(log, after, limits);
    };
    return { read, bounds: (log) => store.bounds(log), list: () => store.list!() } as TopicStore;
  };
  const [a, b, c] = await reportTopics(failing(new TypeError("of later")), heads[1]);
  assertEquals([a!.messages, a!.oldest, a!.head, a!.failure], [0, undefined, heads[0], "of later"]);
  assertEquals([b!.messages, b!.bytes, b!.head, b!.lag, b!.failure], [1, 1, heads[1], undefined, "of later"]);
  assertEquals([c!.messages, c!.failure], [1, undefined]);
  await assertRejects(() => reportTopics(failing(new Error("away")), undefined), Error, "away");
});

Deno.test("More topics than are listed at once are listed", async () => {
  await using prepared = await FILE.prepare(Date.now);
  const store = prepared.open();
  const names = Array.from({ length: 101 }, (_, index) => `topic ${`${index}`.padStart(3, "0")}`);
  for (const name of names) {
    await append(store, log(name), [messageOf(1)]);
  }
  assertEquals((await reportTopics(store, undefined)).map(({ name }) => name), names);
});

Deno.test("A store that cannot list its logs, and an invalid id, are refused", async () => {
  const store = new MemoryStore();
  await assertRejects(() => reportTopics(store, undefined), TypeError, "Cannot list the topics: their store has no");
  await assertRejects(() => reportTopics(store, "x"), SyntaxError, 'Cannot resume after "x"');
  await store.close();
});
