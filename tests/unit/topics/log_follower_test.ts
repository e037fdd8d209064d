import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { App } from "../../../mod.ts";
import type { LogSlice } from "../../../src/topics/topic_log.ts";
import { toId, type TopicMessage } from "../../../src/topics/message.ts";
import { RecentMessages } from "../../../src/topics/log_follower.ts";

function idOf(number: number, incarnation = "aaaaaaaa"): string {
  return toId(incarnation, number.toString(16).padStart(22, "0"));
}

function messageOf(number: number): TopicMessage<number> {
  return { id: idOf(number), type: undefined, data: number, time: new Date(number * 1000) };
}

/** Messages with these numbers, each of `size` bytes, from a log that keeps those after `low`. */
function sliceOf(numbers: readonly number[], { size = 1, low = 0 } = {}): LogSlice<number> {
  return {
    lowWatermark: idOf(low),
    highWatermark: idOf(numbers.at(-1) ?? low),
    messages: numbers.map(messageOf),
    sizes: numbers.map(() => size),
  };
}

function numbersAfter(recent: RecentMessages<number>, number: number): number[] | undefined {
  return recent.after(idOf(number))?.map(({ data }) => data);
}

Deno.test("Recent messages are those that were read since the beginning", () => {
  const recent = new RecentMessages<number>(idOf(3), 10, 1000);
  assertEquals(numbersAfter(recent, 3), []);
  recent.extend(sliceOf([4, 5]));
  recent.extend(sliceOf([6]));
  assertEquals(recent.end, idOf(6));
  assertEquals([2, 3, 4, 5, 6, 7].map((number) => numbersAfter(recent, number)), [
    undefined,
    [4, 5, 6],
    [5, 6],
    [6],
    [],
    [],
  ]);
});

Deno.test("The list after one position is the same until there are new messages", () => {
  const recent = new RecentMessages<number>(idOf(0), 10, 1000);
  recent.extend(sliceOf([1, 2]));
  const batch = recent.after(idOf(0));
  assertStrictEquals(recent.after(idOf(0)), batch);
  // A client may make up any number of ids between two messages.
  assertStrictEquals(recent.after(`${idOf(0)}5`), batch);
  assertThrows(() => (batch as TopicMessage<number>[]).pop(), TypeError);
  recent.extend(sliceOf([3]));
  assertEquals([numbersAfter(recent, 0), batch?.length], [[1, 2, 3], 2]);
});

Deno.test("Beyond the bounds the oldest are dropped, but never the newest", () => {
  const recent = new RecentMessages<number>(idOf(0), 3, 100);
  recent.extend(sliceOf([1, 2, 3, 4, 5]));
  assertEquals([numbersAfter(recent, 1), numbersAfter(recent, 2)], [undefined, [3, 4, 5]]);
  recent.extend(sliceOf([6, 7], { size: 50 }));
  assertEquals([numbersAfter(recent, 4), numbersAfter(recent, 5)], [undefined, [6, 7]]);
  recent.extend(sliceOf([8], { size: 1000 }));
  assertEquals([numbersAfter(recent, 6), numbersAfter(recent, 7)], [undefined, [8]]);
});

Deno.test("Messages that the store no longer keeps or that are too old are dropped", () => {
  const recent = new RecentMessages<number>(idOf(0), 10, 1000);
  recent.extend(sliceOf([1, 2, 3, 4], { low: 2 }));
  assertEquals([numbersAfter(recent, 1), numbersAfter(recent, 2)], [undefined, [3, 4]]);
  recent.expire(4000);
  assertEquals([numbersAfter(recent, 2), numbersAfter(recent, 3)], [undefined, [4]]);
  recent.expire(5000);
  assertEquals([numbersAfter(recent, 3), numbersAfter(recent, 4)], [undefined, []]);
  recent.extend(sliceOf([5], { low: 4 }));
  assertEquals(numbersAfter(recent, 4), [5]);
});

Deno.test("There are no messages of another incarnation of the log", () => {
  const recent = new RecentMessages<number>(idOf(1), 10, 1000);
  const other = idOf(1, "00000000");
  assertEquals([recent.after(other), recent.covers(other)], [undefined, false]);
  assertEquals(recent.isContinuedBy({ ...sliceOf([]), highWatermark: other, lowWatermark: other }), false);
});

Deno.test("Recent messages continue with those read at the end, unless some are no longer kept", () => {
  const recent = new RecentMessages<number>(idOf(2), 10, 1000);
  assertEquals(recent.isContinuedBy(sliceOf([3, 4], { low: 2 })), true);
  assertEquals(recent.isContinuedBy(sliceOf([4], { low: 3 })), false);
});

Deno.test("They cover the positions from the beginning to the end", () => {
  const recent = new RecentMessages<number>(idOf(2), 10, 1000);
  recent.extend(sliceOf([3, 4]));
  assertEquals([1, 2, 3, 4, 5].map((number) => recent.covers(idOf(number))), [false, true, true, true, false]);
});

Deno.test("Messages of one turn of the event loop come to all readers as the same list", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers");
  const subscriptions = Array.from({ length: 64 }, () => topic.subscribe());
  await Promise.all(subscriptions.map((each) => each.cursor()));
  for (const numbers of [[1], [2, 3, 4], [5]]) {
    const reading = Promise.all(subscriptions.map((each) => each.nextBatch()));
    for (const number of numbers) await topic.publish(number);
    const batches = await reading;
    assertEquals(batches[0]?.map((entry) => "data" in entry ? entry.data : entry), numbers);
    assertEquals(new Set(batches).size, 1);
  }
  await app.stop();
});
