import { assert, assertEquals, assertRejects } from "@std/assert";
import { BatchedReads } from "../../../../src/store/kv/batched_reads.ts";
import type { KvEngine, KvEntry, KvKey, KvRange } from "../../../../src/store/kv/engine.ts";
import { toConnection } from "../../../../src/store/kv/kv_store.ts";

/** A database whose entries have their last part as value. */
class RangeEngine implements KvEngine {
  requests: (readonly KvRange[])[] = [];
  failures = 0;

  async read(ranges: readonly KvRange[]): Promise<KvEntry[][]> {
    this.requests.push(ranges);
    await Promise.resolve();
    if (this.failures-- > 0) throw new Error("Refused");
    return ranges.map((range) => {
      if ("key" in range) return range.key.at(-1) === "absent" ? [] : [entryOf(range.key)];
      return Array.from({ length: Math.min(3, range.limit) }, (_, index) => entryOf([...range.from, `${index}`]));
    });
  }

  get = () => Promise.reject(new Error("Not batched"));
  list = () => Promise.reject(new Error("Not batched"));
  write = () => Promise.resolve(undefined);
  async *watch() {}
  close() {}
}

function entryOf(key: KvKey): KvEntry {
  return { key, value: new TextEncoder().encode(key.at(-1)), version: "0".repeat(20) };
}

function readsOf(engine: KvEngine): BatchedReads {
  return new BatchedReads(toConnection({ name: "a database", open: () => Promise.resolve(engine) }), true);
}

Deno.test("Reads that begin at the same moment share requests, and each gets its own entries", async () => {
  const engine = new RangeEngine();
  const reads = readsOf(engine);
  const answers = await Promise.all(Array.from({ length: 100 }, async (_, index) => {
    const entries = await reads.get([["common"], [`${index}`], ["absent"]]);
    return entries.map((entry) => entry && new TextDecoder().decode(entry.value));
  }));
  assertEquals(answers, Array.from({ length: 100 }, (_, index) => ["common", `${index}`, undefined]));
  // The ranges that they have in common are read once in each request.
  assertEquals(engine.requests.length, Math.ceil(100 / 8));
  assert(engine.requests.every((ranges) => ranges.length <= 10));
});

Deno.test("Lists have their own limits", async () => {
  const reads = readsOf(new RangeEngine());
  const [two, five] = await Promise.all([reads.list(["a"], ["b"], 2), reads.list(["a"], ["b"], 5)]);
  assertEquals([two.entries.length, two.isAll, five.entries.length, five.isAll], [2, false, 3, true]);
});

Deno.test("After a failure, requests have fewer reads, and lists one entry", async () => {
  const engine = new RangeEngine();
  engine.failures = 2;
  const reads = readsOf(engine);
  const listings = await Promise.all(Array.from({ length: 8 }, (_, index) => reads.list([`${index}`], ["x"], 5)));
  assertEquals(listings.map(({ entries: [first] }) => first!.key[0]), ["0", "1", "2", "3", "4", "5", "6", "7"]);
  assertEquals(engine.requests.slice(0, 4).map((ranges) => ranges.length), [8, 4, 2, 6]);
  assertEquals(listings.map(({ entries, isRepeated }) => [entries.length, isRepeated])[0], [1, true]);
  assertEquals(listings.map(({ entries, isRepeated }) => [entries.length, isRepeated])[7], [3, false]);
});

Deno.test("A read ends with its signal, and the others go on", async () => {
  const engine = new RangeEngine();
  const reads = readsOf(engine);
  const controller = new AbortController();
  const aborted = assertRejects(() => reads.get([["a"]], controller.signal), Error, "Enough");
  const other = reads.get([["b"]]);
  controller.abort(new Error("Enough"));
  await aborted;
  assertEquals((await other).length, 1);
});

Deno.test("Reads of a closed connection fail", async () => {
  const reads = readsOf(new RangeEngine());
  const pending = Array.from({ length: 100 }, (_, index) => reads.get([[`${index}`]]));
  const closing = reads.connection.close();
  await Promise.allSettled(pending);
  await closing;
  await assertRejects(() => reads.get([["a"]]), Error, "closed");
});
