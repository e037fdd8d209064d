import { assert, assertEquals, assertFalse } from "@std/assert";
import { type CountedLimit, MAX_CALLERS, MemoryCounts } from "../../../src/rate_limit/counts.ts";

/** Replaces the clock until it is disposed of. */
class Clock implements Disposable {
  now = 0;
  readonly #original = performance.now;

  constructor() {
    performance.now = () => this.now;
  }

  [Symbol.dispose](): void {
    performance.now = this.#original;
  }
}

const limitOf = (number: number, limit: number, perMs: number): CountedLimit => ({ number, limit, perMs });

Deno.test("Requests up to the limit pass, and a refused one is not counted", () => {
  using clock = new Clock();
  const counts = new MemoryCounts();
  const limit = limitOf(0, 2, 1000);
  const count = () => counts.count(limit, "a");
  assertEquals(count(), { isRefused: false, remaining: 1, resetMs: 1000 });
  clock.now = 600;
  assertEquals(count(), { isRefused: false, remaining: 0, resetMs: 400 });
  assertEquals(count(), { isRefused: true, remaining: 0, resetMs: 400 });
  clock.now = 999;
  assert(count().isRefused);
  clock.now = 1000;
  assertEquals(count(), { isRefused: false, remaining: 1, resetMs: 1000 });
});

Deno.test("Callers and limits are counted each for itself, also names of Object's prototype", () => {
  const counts = new MemoryCounts();
  for (const caller of ["__proto__", "constructor", "toString", "hasOwnProperty", ""]) {
    for (const number of [0, 1]) {
      const limit = limitOf(number, 1, 1000);
      assertFalse(counts.count(limit, caller).isRefused, caller);
      assert(counts.count(limit, caller).isRefused, caller);
    }
  }
});

Deno.test("Callers whose time is over are forgotten", () => {
  using clock = new Clock();
  const counts = new MemoryCounts();
  const limit = limitOf(0, 1, 1000);
  for (let caller = 0; caller < 50; caller++) counts.count(limit, `a${caller}`);
  clock.now = 500;
  for (let caller = 0; caller < 50; caller++) counts.count(limit, `b${caller}`);
  assertEquals(counts.callers, 100);
  clock.now = 1000;
  assertFalse(counts.count(limit, "a0").isRefused);
  assert(counts.count(limit, "b0").isRefused);
  assertEquals(counts.callers, 51);
});

Deno.test("For one caller too many, the one is given up whose time ends first, of all limits", () => {
  using clock = new Clock();
  const counts = new MemoryCounts(3);
  const long = limitOf(0, 1, 10_000);
  const short = limitOf(2, 1, 1000);
  counts.count(long, "first");
  clock.now = 1;
  counts.count(short, "second");
  clock.now = 2;
  counts.count(short, "third");
  counts.count(long, "fourth");
  assertEquals(counts.callers, 3);
  assert(counts.count(long, "first").isRefused);
  assert(counts.count(short, "third").isRefused);
  assertFalse(counts.count(short, "second").isRefused);
  assertEquals(counts.callers, 3);
});

Deno.test("A million callers stay within 100,000", () => {
  const counts = new MemoryCounts();
  const limit = limitOf(0, 1, 3_600_000);
  for (let caller = 0; caller < 1_000_000; caller++) counts.count(limit, `2001:db8:${caller.toString(16)}:0`);
  assertEquals(counts.callers, MAX_CALLERS);
  assert(counts.count(limit, `2001:db8:${(999_999).toString(16)}:0`).isRefused);
});
