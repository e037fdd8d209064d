// How long a stream waits before it tries again.

import { assert, assertEquals } from "@std/assert";
import { pauseAfter, retryAfterOf } from "../../../src/client/retry.ts";

/** The pauses of failures in a row, for the largest or the smallest part of chance. */
function pausesOf(count: number, chance: number, retry?: number, retryAfter?: number): number[] {
  const random = Math.random;
  Math.random = () => chance;
  try {
    return Array.from({ length: count }, (_, failures) => pauseAfter(failures, retry, retryAfter));
  } finally {
    Math.random = random;
  }
}

Deno.test("Pauses are 1 s, doubled up to 30 s, of which chance leaves out up to a half", () => {
  assertEquals(pausesOf(7, 0), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  assertEquals(pausesOf(7, 1), [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
});

Deno.test("The time that a server asks for is the first pause, and the least of the others", () => {
  assertEquals(pausesOf(5, 0, 4_000), [4_000, 8_000, 16_000, 30_000, 30_000]);
  assertEquals(pausesOf(5, 1, 4_000), [4_000, 4_000, 8_000, 15_000, 15_000]);
  assertEquals(pausesOf(2, 1, 60_000), [60_000, 60_000]);
  assertEquals(pausesOf(2, 0, 60_000), [60_000, 60_000]);
});

Deno.test("A server cannot make a client come back more often than 10 times a second, or wait longer than 5 minutes", () => {
  assertEquals(pausesOf(1, 1, 0), [100]);
  assertEquals(pausesOf(1, 1, 1e300), [300_000]);
  assertEquals(pausesOf(1, 1, undefined, 1e300), [300_000]);
  assertEquals(pausesOf(3, 1, undefined, -5), [500, 1_000, 2_000]);
  assertEquals(pausesOf(2, 1, 100, 7_000), [7_000, 7_000]);
});

Deno.test("Many failures give no number that a timer cannot take", () => {
  assert(pausesOf(3_000, 0).every((ms) => ms <= 30_000));
  assert(pausesOf(3_000, 0, 0).every((ms) => ms >= 100 && ms <= 30_000));
});

Deno.test("Retry-After is a number of seconds or a date", () => {
  const read = (value?: string) => retryAfterOf(new Headers(value === undefined ? {} : { "retry-after": value }));
  assertEquals([read("120"), read(), read("soon"), read("")], [120_000, undefined, undefined, undefined]);
  const inAMinute = read(new Date(Date.now() + 60_000).toUTCString())!;
  assert(inAMinute > 50_000 && inAMinute <= 60_000);
});
