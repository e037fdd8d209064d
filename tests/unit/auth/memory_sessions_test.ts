import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { memorySessions } from "../../../src/auth/sessions/stores.ts";
import { MovedClock } from "../../spec/support/moved_clock.ts";

const HOUR = { expiresIn: 3_600_000, mustExist: false };

Deno.test("A value is returned until it has expired or was deleted", async () => {
  using clock = new MovedClock();
  const store = memorySessions();
  assertEquals(await store.get("a"), null);
  await store.set("a", "1", HOUR);
  await store.set("b", "2", HOUR);
  await store.delete("b");
  await store.delete("c");
  assertEquals([await store.get("a"), await store.get("b")], ["1", null]);
  clock.advance(3_599_000);
  assertEquals(await store.get("a"), "1");
  clock.advance(1_001);
  assertEquals(await store.get("a"), null);
});

Deno.test("With mustExist, only what is there is written", async () => {
  using clock = new MovedClock();
  const store = memorySessions();
  await store.set("a", "1", { ...HOUR, mustExist: true });
  assertEquals(await store.get("a"), null);
  await store.set("a", "1", HOUR);
  clock.advance(3_000_000);
  await store.set("a", "2", { ...HOUR, mustExist: true });
  clock.advance(3_000_000);
  assertEquals(await store.get("a"), "2");
  clock.advance(3_000_000);
  await store.set("a", "3", { ...HOUR, mustExist: true });
  assertEquals(await store.get("a"), null);
});

Deno.test("It is bounded in number: the one that was set first is given up", async () => {
  const store = memorySessions({ maxSessions: 3 });
  for (const key of ["a", "b", "c"]) await store.set(key, key, HOUR);
  await store.set("a", "again", HOUR);
  await store.set("d", "d", HOUR);
  const values = await Promise.all(["a", "b", "c", "d"].map((key) => store.get(key)));
  assertEquals(values, ["again", null, "c", "d"]);
});

Deno.test("It is bounded in memory, whatever is replaced and deleted", async () => {
  const store = memorySessions({ maxBytes: 10_000 });
  const value = "x".repeat(1_000);
  for (let round = 0; round < 50; round++) {
    for (const key of ["a", "b", "c", "d"]) await store.set(key, value, HOUR);
    await store.delete("a");
  }
  assertEquals(await store.get("d"), value);
  await store.set("e", value, HOUR);
  assertEquals([await store.get("b"), await store.get("c")], [value, value]);
  await store.set("f", value, HOUR);
  assertEquals([await store.get("b"), await store.get("c")], [null, value]);
});

Deno.test("Sessions that are replaced at once are counted once", async () => {
  const store = memorySessions({ maxBytes: 10_000 });
  const value = "x".repeat(1_000);
  await store.set("a", value, HOUR);
  for (let round = 0; round < 50; round++) {
    const renewal = { ...HOUR, mustExist: true };
    await Promise.all([store.set("a", value, renewal), store.set("a", value, renewal), store.set("b", value, HOUR)]);
  }
  assertEquals([await store.get("a"), await store.get("b")], [value, value]);
});

Deno.test("A renewal brings back no session that is deleted at the same time", async () => {
  const store = memorySessions();
  for (let ticks = 0; ticks < 8; ticks++) {
    await store.set("a", "1", HOUR);
    const renewed = store.set("a", "2", { ...HOUR, mustExist: true });
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    await store.delete("a");
    await renewed;
    assertEquals(await store.get("a"), null, `${ticks}`);
  }
});

Deno.test("Expired sessions make room before others, without a timer", async () => {
  using clock = new MovedClock();
  const store = memorySessions({ maxSessions: 4 });
  for (const key of ["a", "b"]) await store.set(key, key, { expiresIn: 1_000, mustExist: false });
  clock.advance(2_000);
  await store.set("c", "c", HOUR);
  for (const key of ["d", "e", "f"]) await store.set(key, key, HOUR);
  const values = await Promise.all(["a", "b", "c", "d", "e", "f"].map((key) => store.get(key)));
  assertEquals(values, [null, null, "c", "d", "e", "f"]);
});

Deno.test("A session has at most 65,536 characters, and a refused one leaves the earlier", async () => {
  const store = memorySessions();
  await store.set("a", "1", HOUR);
  await assertRejects(() => store.set("a", "x".repeat(65_537), HOUR), RangeError, "it has 65537 characters");
  assertEquals(await store.get("a"), "1");
});

Deno.test("The bounds are checked", () => {
  assertThrows(() => memorySessions({ max: 1 } as never), TypeError, 'the option "max" is unknown');
  for (const bound of [0, -1, NaN, "1" as unknown as number]) {
    assertThrows(() => memorySessions({ maxSessions: bound }), RangeError, "maxSessions must be a positive number");
  }
});
