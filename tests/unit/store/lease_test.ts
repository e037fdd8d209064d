import { assertEquals } from "@std/assert";
import { Lease } from "../../../src/store/lease.ts";
import { ManualClock } from "../support/manual_clock.ts";

/** A record that one process has at a time. */
class Slot {
  value: string | undefined;
  version = 0;

  write(value: string, expect: string | null): Promise<string | null> {
    const present = this.value === undefined ? null : `${this.version}`;
    if (expect !== present) return Promise.resolve(null);
    this.value = value;
    return Promise.resolve(`${++this.version}`);
  }

  delete(expect: string): Promise<boolean> {
    const isPresent = this.value !== undefined && expect === `${this.version}`;
    if (isPresent) this.value = undefined;
    return Promise.resolve(isPresent);
  }
}

Deno.test("one of two processes gets a lease, and the other one after its release", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const slot = new Slot();
  const [one, other] = [new Lease(slot, 9_000, clock), new Lease(slot, 9_000, clock)];
  assertEquals([await one.write("one"), await other.write("other")], [true, false]);
  assertEquals([one.isHeld, other.isHeld, other.version], [true, false, null]);
  assertEquals([await one.write("renewed"), slot.value], [true, "renewed"]);
  assertEquals([await one.release(), await other.write("other"), slot.value], [true, true, "other"]);
});

Deno.test("a holder renews after a third, and must have renewed after four fifths", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const lease = new Lease(new Slot(), 9_000, clock);
  let lost = 0;
  await lease.write("one");
  lease.watch(() => lost++);
  assertEquals([lease.isRenewalDue, lease.nextRenewal], [false, 3_000]);
  await clock.advance(3_000);
  assertEquals([lease.isRenewalDue, lease.isHeld], [true, true]);
  await lease.write("one");
  await clock.advance(7_000);
  assertEquals([lease.isHeld, lost], [true, 0]);
  await clock.advance(500);
  assertEquals([lease.isHeld, lease.nextRenewal, lost > 0], [false, -Infinity, true]);
  lease.unwatch();
  assertEquals(clock.timers, 0);
});

Deno.test("a wall clock that is set forward ends a lease early, and one that is set back does not extend it", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const lease = new Lease(new Slot(), 9_000, clock);
  await lease.write("one");
  clock.set("2026-01-01T01:00:00Z");
  assertEquals(lease.isHeld, false);
  await lease.write("one");
  clock.set("2026-01-01T00:00:00Z");
  await clock.advance(8_000);
  assertEquals(lease.isHeld, false);
});

Deno.test("the lease of another process expires when its version has not changed for the whole length", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const lease = new Lease(new Slot(), 9_000, clock);
  assertEquals(lease.hasExpired("1"), false);
  await clock.advance(8_999);
  assertEquals(lease.hasExpired("1"), false);
  await clock.advance(1);
  assertEquals([lease.hasExpired("1"), lease.hasExpired("2")], [true, false]);
});

Deno.test("a process that was overtaken neither renews nor deletes what the other one wrote", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const slot = new Slot();
  const [one, other] = [new Lease(slot, 9_000, clock), new Lease(slot, 9_000, clock)];
  await one.write("one");
  await other.write("other", one.version);
  assertEquals([await one.release(), slot.value], [false, "other"]);
  await one.write("one", null);
  assertEquals([one.version, await one.release(), slot.value], [null, true, "other"]);
});
