// How exactly a log is trimmed, however its messages come.

import { assert, assertEquals } from "@std/assert";
import { RetentionIndex } from "../../../../src/store/kv/retention_worker.ts";
import type { LogPolicy } from "../../../../src/store/topic_store.ts";
import { Random } from "../../support/random.ts";

const UNBOUNDED: LogPolicy = { age: Infinity, count: Infinity, bytes: Infinity, dedupe: 0 };
/** With which precision a log is trimmed. */
const PRECISION = 1 / 64;
/** How many records come between two rounds. */
const ROUND = 5;

const SECOND = 1_000;

interface Recorded {
  readonly count: number;
  readonly bytes: number;
  readonly time: number;
}

function cursorOf(index: number): string {
  return index.toString(16).padStart(20, "0") + "ff";
}

/** Adds records, and trims after every few once there are enough. Yields what is kept each time. */
function* trim(records: Iterable<Recorded>, policy: LogPolicy, from: number): Generator<readonly Recorded[]> {
  const retention = new RetentionIndex("incarnation", policy);
  const all: Recorded[] = [];
  let low = 0;
  for (const record of records) {
    const now = SECOND * all.length;
    retention.add(cursorOf(all.length), record);
    all.push(record);
    if (all.length < from || all.length % ROUND !== 0) continue;
    const end = retention.endOfExcess(now);
    if (end !== undefined) {
      low = parseInt(end.slice(0, 20), 16) + 1;
      retention.dropUpTo(end);
    }
    yield all.slice(low);
  }
}

/** One message a second, or some at once, of nodes whose clocks differ. */
function* steady(total: number, random: Random | undefined, skew = 0): Generator<Recorded> {
  for (let index = 0; index < total; index++) {
    const count = random && random.oneIn(3) ? 1 + random.below(20) : 1;
    yield { count, bytes: 200 * count, time: index * SECOND + (random?.below(skew + 1) ?? 0) };
  }
}

function sumOf(records: readonly Recorded[], what: "count" | "bytes"): number {
  return records.reduce((sum, record) => sum + record[what], 0);
}

for (
  const [title, recordsOf] of [
    ["one by one", () => steady(30_000, undefined)],
    ["some at once, by clocks that differ", () => steady(30_000, new Random(1), 3_000_000)],
  ] as const
) {
  for (const from of [0, 25_000]) {
    const when = from === 0 ? "from the beginning" : "after a long time";
    Deno.test(`Messages that come ${title} and are trimmed ${when} are kept up to the bound of count`, () => {
      const count = 5_000;
      let seen = 0;
      for (const kept of trim(recordsOf(), { ...UNBOUNDED, count }, from)) {
        const messages = sumOf(kept, "count");
        seen += messages >= count ? 1 : 0;
        assert(messages <= count * (1 + PRECISION) + 21, `${messages} of ${count}`);
        assert(seen === 0 || messages >= count, `${messages} of ${count}`);
      }
      assert(seen > 100);
    });

    Deno.test(`Messages that come ${title} and are trimmed ${when} are kept up to the bound of bytes`, () => {
      const bytes = 1_000_000;
      let seen = 0;
      for (const kept of trim(recordsOf(), { ...UNBOUNDED, bytes }, from)) {
        const size = sumOf(kept, "bytes");
        seen += size >= bytes * (1 - PRECISION) ? 1 : 0;
        assert(size <= bytes, `${size} of ${bytes}`);
        assert(seen === 0 || size >= bytes * (1 - PRECISION) - 4_000, `${size} of ${bytes}`);
      }
      assert(seen > 100);
    });
  }
}

for (const from of [0, 25_000]) {
  Deno.test(`Messages go when they are too old, trimmed from record ${from} on`, () => {
    const age = 3_600_000;
    let last: readonly Recorded[] = [];
    for (const kept of trim(steady(30_000, undefined), { ...UNBOUNDED, age }, from)) {
      const now = kept.at(-1)!.time;
      assert(kept[0]!.time >= now - age * (1 + PRECISION) - (ROUND + 2) * SECOND, `${now - kept[0]!.time} ms old`);
      last = kept;
    }
    assert(last.length >= 3_600);
  });
}

for (const bound of [{ count: 2_000 }, { bytes: 400_000 }]) {
  Deno.test(`A clock that is far ahead keeps nothing from being removed, and has nothing removed, for ${Object.keys(bound)}`, () => {
    function* records(): Generator<Recorded> {
      for (const [index, record] of steady(10_000, undefined).toArray().entries()) {
        yield index % 1_500 === 900 ? { ...record, time: record.time + 4e9 } : record;
      }
    }
    let seen = 0;
    for (const kept of trim(records(), { ...UNBOUNDED, age: 3_600_000, ...bound }, 0)) {
      seen = Math.max(seen, kept.length);
      assert(kept.length <= 2_000 * (1 + PRECISION) + ROUND, `${kept.length} are kept`);
      assert(seen < 2_000 || kept.length >= 2_000 * (1 - PRECISION) - ROUND, `${kept.length} are kept`);
    }
    assert(seen >= 2_000);
  });
}

Deno.test("A message whose time is far ahead becomes too old with the one after it", () => {
  const age = 60_000;
  const retention = new RetentionIndex("incarnation", { ...UNBOUNDED, age });
  retention.add(cursorOf(0), { count: 1, bytes: 1, time: 1e9 });
  retention.add(cursorOf(1), { count: 1, bytes: 1, time: 30_000 });
  retention.add(cursorOf(2), { count: 1, bytes: 1, time: 50_000 });
  assertEquals([retention.endOfExcess(30_000 + age), retention.endOfExcess(30_001 + age)], [undefined, cursorOf(1)]);
});

Deno.test("A clock that was behind for a while has nothing removed when it is right again", () => {
  const now = 1e12;
  const retention = new RetentionIndex("incarnation", { ...UNBOUNDED, age: 60_000 });
  for (let index = 0; index < 300; index++) {
    retention.add(cursorOf(index), { count: 1, bytes: 1, time: now + index });
  }
  assertEquals([retention.endOfExcess(300), retention.endOfExcess(now + 300)], [undefined, undefined]);
  assertEquals(retention.endOfExcess(now + 90_000), cursorOf(299));
});

Deno.test("The index of a log takes little memory, for a small log, too", () => {
  for (const policy of [{ count: 1_000 }, { bytes: 200_000 }, { age: 1_000 * SECOND }]) {
    const retention = new RetentionIndex("incarnation", { ...UNBOUNDED, ...policy });
    for (const [index, record] of steady(1_000, undefined).toArray().entries()) {
      retention.add(cursorOf(index), record);
    }
    assert(retention.size <= 192, `${retention.size} parts for ${JSON.stringify(policy)}`);
  }
});
