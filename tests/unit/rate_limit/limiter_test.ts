import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { App } from "../../../mod.ts";
import type { HttpRequest } from "../../../src/http/request.ts";
import { MemoryCounts } from "../../../src/rate_limit/counts.ts";
import { boundedCaller, networkOf, RateLimiter } from "../../../src/rate_limit/limiter.ts";

Deno.test("An address of IPv4 is a caller, also if it is written as IPv6", () => {
  for (
    const address of [
      "203.0.113.7",
      "::ffff:203.0.113.7",
      "::FFFF:203.0.113.7",
      "::ffff:cb00:7107",
      "0:0:0:0:0:ffff:cb00:7107",
      "0000:0000:0000:0000:0000:ffff:203.0.113.7",
    ]
  ) assertEquals(networkOf(address), "203.0.113.7", address);
});

Deno.test("Addresses of IPv6 in one network /64 are one caller, however they are written", () => {
  for (
    const address of [
      "2001:db8:1:2::1",
      "2001:db8:1:2:ffff:ffff:ffff:ffff",
      "2001:0DB8:0001:0002::",
      "2001:db8:1:2::203.0.113.7",
      "2001:db8:1:2::1%eth0",
    ]
  ) assertEquals(networkOf(address), "2001:db8:1:2", address);
  assertEquals(networkOf("2001:db8:1:3::1"), "2001:db8:1:3");
  assertEquals(networkOf("::1"), "0:0:0:0");
  assertEquals(networkOf("fe80::1%eth0"), "fe80:0:0:0");
  assertEquals(networkOf("1::2:3:4:5:6"), "1:0:0:2");
});

Deno.test("Long callers are hashed, and differ", async () => {
  assertEquals(boundedCaller("a".repeat(128)), "a".repeat(128));
  assertEquals(boundedCaller(7), "7");
  const [one, other] = [await boundedCaller("a".repeat(129)), await boundedCaller("a".repeat(1_000_000))];
  assertEquals([one.length, other.length], [39, 39]);
  assertNotEquals(one, other);
});

/** Calls an action with a request. */
async function withRequest(action: (request: HttpRequest) => Promise<void>): Promise<void> {
  const app = new App();
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  app.get("/", async (request) => {
    await action(request).then(resolve, reject);
    return "done";
  });
  await (await app.fetch(new Request("http://localhost/"))).body?.cancel();
  await done;
  await app.stop();
}

const DECLARED = { limit: 1, perMs: 60_000, by: () => "a", after: undefined, store: undefined };

Deno.test("A request that waits for its counts is counted where all count from now on", async () => {
  const [before, shared] = [new MemoryCounts(), new MemoryCounts()];
  const first = Promise.withResolvers<MemoryCounts>();
  const begun = Promise.withResolvers<void>();
  const opened = [first.promise, Promise.resolve(shared)];
  const limiter = new RateLimiter(DECLARED, 0, () => {
    begun.resolve();
    return opened.shift()!;
  });
  await withRequest(async (request) => {
    const checking = limiter.check(request);
    await begun.promise;
    limiter.reopen();
    first.resolve(before);
    await checking;
  });
  assertEquals([before.callers, shared.callers], [0, 1]);
});

Deno.test("A limit whose counts could not be opened opens them for the next request", async () => {
  const counts = new MemoryCounts();
  let tries = 0;
  const limiter = new RateLimiter(DECLARED, 0, async () => {
    if (++tries === 1) throw new TypeError("no module");
    return counts;
  });
  await withRequest(async (request) => {
    await assertRejects(async () => await limiter.check(request), TypeError, "no module");
    await limiter.check(request);
  });
  assertEquals(counts.callers, 1);
});
