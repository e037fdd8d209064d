import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import type { Count, CountedLimit, Counts } from "../../../src/rate_limit/counts.ts";
import type { SharedCount } from "../../../src/rate_limit/rate_limit.ts";
import { LimiterCounts, SharedCounts } from "../../../src/rate_limit/shared_counts.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";

const LIMIT: CountedLimit = { number: 0, limit: 2, perMs: 1000 };
const COUNT: Count = { isRefused: false, remaining: 1, resetMs: 1000 };

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

function countsOf(count: () => Promise<Count>): Counts {
  return { count };
}

Deno.test("A store that fails lets requests through, and is logged at most once a minute", async () => {
  using clock = new Clock();
  using log = new CapturedLog();
  const shared = new SharedCounts(countsOf(() => Promise.reject(new Error("no connection"))), "GET /#1");
  for (const now of [0, 1, 59_999]) {
    clock.now = now;
    assertEquals(await shared.count(LIMIT, "a", false), undefined);
  }
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "A rate limit allows all requests: its store fails");
  assertStringIncludes(log.text, "no connection");
  clock.now = 60_000;
  await shared.count(LIMIT, "a", false);
  assertEquals(log.lines.length, 2);
});

Deno.test("A store that throws at once lets requests through, too", async () => {
  using log = new CapturedLog();
  const throwing = () => {
    throw new TypeError("wrong");
  };
  const shared = new SharedCounts({ count: throwing }, "GET /#1");
  assertEquals(await shared.count(LIMIT, "a", false), undefined);
  assertEquals(log.lines.length, 1);
});

Deno.test("A store that hangs lets requests through after a time, and is left alone for a second", async () => {
  using clock = new Clock();
  using log = new CapturedLog();
  let asked = 0;
  const answers: PromiseWithResolvers<Count>[] = [];
  const shared = new SharedCounts(
    countsOf(() => {
      asked++;
      answers.push(Promise.withResolvers());
      return answers.at(-1)!.promise;
    }),
    "GET /#1",
    1,
  );
  assertEquals(await shared.count(LIMIT, "a", false), undefined);
  assertStringIncludes(log.text, "the store did not answer within 1 ms");
  clock.now = 999;
  assertEquals(await shared.count(LIMIT, "a", false), undefined);
  assertEquals(asked, 1);
  // A late failure is nobody's.
  answers[0]!.reject(new Error("late"));
  clock.now = 1000;
  const again = shared.count(LIMIT, "a", false);
  answers[1]!.resolve(COUNT);
  assertEquals(await again, COUNT);
});

Deno.test("The answers of a limiter are counts, and its key has the limit", async () => {
  const keys: string[] = [];
  const limiter = {
    consume: async (key: string): Promise<SharedCount> => {
      keys.push(key);
      if (keys.length === 1) return { remainingPoints: 1, msBeforeNext: 700 };
      throw { remainingPoints: 0, msBeforeNext: -1 };
    },
  };
  const counts = new LimiterCounts(limiter, "GET /#1:");
  const first = await counts.count(LIMIT, "a");
  assertEquals(first, { isRefused: false, remaining: 1, resetMs: 700 });
  assertFalse(first.isRefused);
  const second = await counts.count(LIMIT, "a");
  assert(second.isRefused);
  assertEquals(second.resetMs, 0);
  assertEquals(keys, ["GET /#1:a", "GET /#1:a"]);
});

Deno.test("A store that gives something else has failed", async () => {
  using log = new CapturedLog();
  const limiter = { consume: async () => undefined as unknown as SharedCount };
  const shared = new SharedCounts(new LimiterCounts(limiter, ""), "GET /#1");
  assertEquals(await shared.count(LIMIT, "a", false), undefined);
  assertStringIncludes(log.text, "the store returned no RateLimiterRes");
});
