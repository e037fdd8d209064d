import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { RecordCounts } from "../../../src/rate_limit/record_counts.ts";
import { SharedCounts } from "../../../src/rate_limit/shared_counts.ts";
import { MemoryRecords } from "../../../src/store/memory/memory_records.ts";
import { Records } from "../../../src/store/records.ts";
import type { RecordStore } from "../../../src/store/record_store.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";
import { MovedClock } from "../../spec/support/moved_clock.ts";

const LIMIT = { number: 0, limit: 5, perMs: 60_000 };

/** A store in memory, of which a test replaces methods. */
function storeWith(replaced: Partial<RecordStore>): RecordStore {
  const memory = new MemoryRecords();
  return {
    get: replaced.get ?? ((key) => memory.get(key)),
    set: replaced.set ?? ((key, value, write) => memory.set(key, value, write)),
    delete: (key, deletion) => memory.delete(key, deletion),
    list: (prefix) => memory.list(prefix),
  };
}

function countsIn(store: RecordStore, now = Date.now, closing = new Set<() => Promise<void>>()): RecordCounts {
  const watches = { isEnding: () => false, open: new Set<{ close(): void }>() };
  return new RecordCounts(new Records({ open: async () => store, watches, closing, now }, "app"), "GET /#1");
}

Deno.test("Nodes whose clocks differ by more than a window count together: the clock of the store decides", async () => {
  for (const limit of [4, 200]) {
    const start = Date.now();
    const store = new MemoryRecords({ now: () => start });
    const declared = { ...LIMIT, limit };
    using clock = new MovedClock();
    for (let node = 0; node < 4; node++) {
      clock.advance(2 * LIMIT.perMs);
      const closing = new Set<() => Promise<void>>();
      const counts = countsIn(store, () => start, closing);
      for (let request = 0; request < limit / 4; request++) {
        assertEquals((await counts.count(declared, "ada")).isRefused, false);
      }
      for (const close of closing) await close();
    }
    const { isRefused, resetMs } = await countsIn(store, () => start + 1_000).count(declared, "ada");
    assertEquals([isRefused, resetMs], [true, LIMIT.perMs - 1_000]);
  }
});

Deno.test("Parallel requests of a caller are written together, and several nodes count exactly", async () => {
  let writes = 0;
  const memory = new MemoryRecords();
  const store = storeWith({
    get: (key) => memory.get(key),
    set: (key, value, write) => {
      writes++;
      return memory.set(key, value, write);
    },
  });
  const nodes = Array.from({ length: 8 }, () => countsIn(store));
  const counts = await Promise.all(Array.from({ length: 400 }, (_, index) => nodes[index % 8]!.count(LIMIT, "ada")));
  assertEquals(counts.filter(({ isRefused }) => !isRefused).length, 5);
  assertEquals(new Set(counts.filter(({ isRefused }) => !isRefused).map(({ remaining }) => remaining)).size, 5);
  assert(writes <= 8 * 20, `${writes} writes`);
});

Deno.test("A request beyond the limit writes nothing", async () => {
  let writes = 0;
  const memory = new MemoryRecords();
  const counts = countsIn(storeWith({
    get: (key) => memory.get(key),
    set: (key, value, write) => {
      writes++;
      return memory.set(key, value, write);
    },
  }));
  for (let request = 0; request < 20; request++) {
    assertEquals((await counts.count(LIMIT, "ada")).isRefused, request >= 5);
  }
  assertEquals(writes, 5);
});

Deno.test("A count that other nodes write before each time gives up after some tries, and the next one is free", async () => {
  let tries = 0;
  let isBusy = true;
  const memory = new MemoryRecords();
  const counts = countsIn(storeWith({
    get: (key) => memory.get(key),
    set: async (key, value, write) => {
      tries++;
      return isBusy ? null : await memory.set(key, value, write);
    },
  }));
  await assertRejects(
    async () => await counts.count(LIMIT, "ada"),
    Error,
    "other nodes wrote its count before, 20 times",
  );
  assertEquals(tries, 20);
  isBusy = false;
  assertEquals((await counts.count(LIMIT, "ada")).remaining, 4);
});

Deno.test("Records that cannot be read let requests through, which is logged", async () => {
  using log = new CapturedLog();
  const fail = async (): Promise<never> => await Promise.reject(new Error("the store is away"));
  const counts = new SharedCounts(countsIn(storeWith({ get: fail })), "GET /#1");
  assertEquals([await counts.count(LIMIT, "ada", false), await counts.count(LIMIT, "bob", false)], [
    undefined,
    undefined,
  ]);
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "the store is away");
});

Deno.test("A time that another node has begun with a clock that is ahead is not longer than the limit says", async () => {
  const memory = new MemoryRecords();
  const counts = countsIn(storeWith({ get: (key) => memory.get(key), set: (...write) => memory.set(...write) }));
  await counts.count(LIMIT, "ada");
  const key = ["rate limits", "GET /#1", ":ada"];
  await memory.set(key, JSON.stringify({ count: 1, ends: Date.now() + 3_600_000 }), {});
  const { remaining, resetMs } = await counts.count(LIMIT, "ada");
  assertEquals(remaining, 3);
  assert(resetMs <= 60_000);
});
