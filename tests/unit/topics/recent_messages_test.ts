import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import type { LogSlice } from "../../../src/topics/topic_log.ts";
import { toId, type TopicMessage } from "../../../src/topics/message.ts";
import { RecentMessages } from "../../../src/topics/log_follower.ts";

function idOf(number: number, incarnation = "aaaaaaaa"): string {
  return toId(incarnation, number.toString(16).padStart(22, "0"));
}

function messageOf(number: number): TopicMessage<number> {
  return { id: idOf(number), type: undefined, data: number, time: new Date(number * 1000) };
}

/** Messages of the numbers, each of so many bytes, from a log that keeps what is after `low`. */
function sliceOf(numbers: readonly number[], { size = 1, low = 0 } = {}): LogSlice<number> {
  return {
    lowWatermark: idOf(low),
    highWatermark: idOf(numbers.at(-1) ?? low),
    messages: numbers.map(messageOf),
    sizes: numbers.map(() => size),
  };
}

function numbersAfter(window: RecentMessages<number>, number: number): number[] | undefined {
  return window.after(idOf(number))?.map(({ data }) => data);
}

Deno.test("A window has what was read since it began", () => {
  const window = new RecentMessages<number>(idOf(3), 10, 1000);
  assertEquals(numbersAfter(window, 3), []);
  window.extend(sliceOf([4, 5]));
  window.extend(sliceOf([6]));
  assertEquals(window.end, idOf(6));
  assertEquals([2, 3, 4, 5, 6, 7].map((number) => numbersAfter(window, number)), [
    undefined,
    [4, 5, 6],
    [5, 6],
    [6],
    [],
    [],
  ]);
});

Deno.test("It gives the very same list for the same place, until there is more", () => {
  const window = new RecentMessages<number>(idOf(0), 10, 1000);
  window.extend(sliceOf([1, 2]));
  const batch = window.after(idOf(0));
  assertStrictEquals(window.after(idOf(0)), batch);
  // A client may make up any number of ids between two messages.
  assertStrictEquals(window.after(`${idOf(0)}5`), batch);
  assertThrows(() => (batch as TopicMessage<number>[]).pop(), TypeError);
  window.extend(sliceOf([3]));
  assertEquals([numbersAfter(window, 0), batch?.length], [[1, 2, 3], 2]);
});

Deno.test("Beyond its bounds the oldest fall out, but never the newest", () => {
  const window = new RecentMessages<number>(idOf(0), 3, 100);
  window.extend(sliceOf([1, 2, 3, 4, 5]));
  assertEquals([numbersAfter(window, 1), numbersAfter(window, 2)], [undefined, [3, 4, 5]]);
  window.extend(sliceOf([6, 7], { size: 50 }));
  assertEquals([numbersAfter(window, 4), numbersAfter(window, 5)], [undefined, [6, 7]]);
  window.extend(sliceOf([8], { size: 1000 }));
  assertEquals([numbersAfter(window, 6), numbersAfter(window, 7)], [undefined, [8]]);
});

Deno.test("It lets go of what the store no longer keeps, and of what is too old", () => {
  const window = new RecentMessages<number>(idOf(0), 10, 1000);
  window.extend(sliceOf([1, 2, 3, 4], { low: 2 }));
  assertEquals([numbersAfter(window, 1), numbersAfter(window, 2)], [undefined, [3, 4]]);
  window.expire(4000);
  assertEquals([numbersAfter(window, 2), numbersAfter(window, 3)], [undefined, [4]]);
  window.expire(5000);
  assertEquals([numbersAfter(window, 3), numbersAfter(window, 4)], [undefined, []]);
  window.extend(sliceOf([5], { low: 4 }));
  assertEquals(numbersAfter(window, 4), [5]);
});

Deno.test("It has nothing to say of another life of the log", () => {
  const window = new RecentMessages<number>(idOf(1), 10, 1000);
  const other = idOf(1, "00000000");
  assertEquals([window.after(other), window.covers(other)], [undefined, false]);
  assertEquals(window.isContinuedBy({ ...sliceOf([]), highWatermark: other, lowWatermark: other }), false);
});

Deno.test("It is continued by what was read at its end, unless some of that is no longer kept", () => {
  const window = new RecentMessages<number>(idOf(2), 10, 1000);
  assertEquals(window.isContinuedBy(sliceOf([3, 4], { low: 2 })), true);
  assertEquals(window.isContinuedBy(sliceOf([4], { low: 3 })), false);
});

Deno.test("It covers the places from its beginning to its end", () => {
  const window = new RecentMessages<number>(idOf(2), 10, 1000);
  window.extend(sliceOf([3, 4]));
  assertEquals([1, 2, 3, 4, 5].map((number) => window.covers(idOf(number))), [false, true, true, true, false]);
});
