import { assert, assertEquals, assertRejects } from "@std/assert";
import { MemoryRecords } from "../../../../src/store/memory/memory_records.ts";
import { Clock } from "../../../contract/clock.ts";

const LARGE = JSON.stringify("x".repeat(1_000));
const LIMIT = { maxBytes: 100_000 };

async function keysOf(records: MemoryRecords): Promise<string[]> {
  return (await Array.fromAsync(records.list([]))).map(({ key }) => key.join("/"));
}

Deno.test("Beyond the bound, records in memory are given up that expire, first those that expire first", async () => {
  const records = new MemoryRecords(LIMIT);
  await records.set(["kept"], LARGE, {});
  for (let index = 0; index < 1_000; index++) {
    await records.set([`${index}`], LARGE, { expiresIn: index % 2 === 0 ? 60_000 : 120_000 });
  }
  const keys = await keysOf(records);
  assert(keys.includes("kept"));
  assert(keys.includes("999"));
  assert(keys.length > 20 && keys.length < 40, `${keys.length} are kept`);
  const [first, ...others] = keys.filter((key) => key !== "kept").map(Number);
  assertEquals(first! % 2, 1);
  assert(others.filter((index) => index % 2 === 0).length <= 2);
});

Deno.test("When the memory is full of records that do not expire, more are refused, and less is taken", async () => {
  const records = new MemoryRecords(LIMIT);
  let kept = 0;
  await assertRejects(
    async () => {
      for (;; kept++) await records.set([`${kept}`], LARGE, {});
    },
    RangeError,
    "Cannot set the record: the memory is full with 100000 bytes of records, give records expiresIn",
  );
  assertEquals((await keysOf(records)).length, kept);
  await assertRejects(() => records.set(["more"], LARGE, { expiresIn: 1_000 }), RangeError, "the memory is full");
  assert(await records.set(["0"], "1", {}));
  assert(await records.set(["small"], "1", {}));
  await records.delete(["1"], {});
  assert(await records.set(["more"], LARGE, {}));
});

Deno.test("A record that is replaced again and again takes its place once", async () => {
  const records = new MemoryRecords(LIMIT);
  for (let round = 0; round < 1_000; round++) {
    await records.set(["a"], LARGE, round % 2 === 0 ? {} : { expiresIn: 1_000 });
    if (round % 10 === 0) await records.delete(["a"], {});
  }
  assertEquals(await keysOf(records), ["a"]);
});

Deno.test("Records that have expired leave the memory with the writes of others", async () => {
  const clock = new Clock();
  const records = new MemoryRecords({ maxBytes: 1_000_000, now: clock.now });
  for (let index = 0; index < 300; index++) await records.set(["old", `${index}`], LARGE, { expiresIn: 1_000 });
  clock.advance(1_000);
  for (let index = 0; index < 300; index++) await records.set(["new", `${index}`], LARGE, {});
  // Both together would not fit.
  for (let index = 300; index < 380; index++) await records.set(["new", `${index}`], LARGE, {});
  assertEquals((await keysOf(records)).length, 380);
});
