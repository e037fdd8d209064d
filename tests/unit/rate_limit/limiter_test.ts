import { assertEquals, assertNotEquals } from "@std/assert";
import { boundedCaller, networkOf } from "../../../src/rate_limit/limiter.ts";

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
