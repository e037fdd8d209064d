import { assertEquals } from "@std/assert";
import { memorySessions } from "../../../src/auth/mod.ts";
import { OrderedMap } from "../../../src/base/ordered_map.ts";
import { MemoryCounts } from "../../../src/rate_limit/counts.ts";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import type { LogRef } from "../../../src/store/topic_store.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { Random } from "../support/random.ts";

Deno.test("An ordered map does what a Map does, and what is set again becomes the newest", () => {
  const random = new Random(7);
  const ordered = new OrderedMap<number, number>();
  const model = new Map<number, number>();
  for (let step = 0; step < 20_000; step++) {
    const key = random.below(50);
    switch (random.below(5)) {
      case 0:
        assertEquals(ordered.delete(key), model.delete(key));
        break;
      case 1: {
        const size = random.below(60);
        ordered.shrink(size);
        for (const oldest of [...model.keys()].slice(0, Math.max(0, model.size - size))) model.delete(oldest);
        break;
      }
      default:
        ordered.set(key, step);
        model.delete(key);
        model.set(key, step);
    }
    assertEquals([ordered.size, ordered.get(key), ordered.has(key)], [model.size, model.get(key), model.has(key)]);
    assertEquals(ordered.oldest?.key, [...model.keys()][0]);
    if (step % 100 === 0) assertEquals([...ordered], [...model]);
  }
  ordered.clear();
  assertEquals([ordered.size, ordered.oldest, [...ordered]], [0, undefined, []]);
});

Deno.test("Entries can be deleted while it is iterated", () => {
  const ordered = new OrderedMap<number, string>();
  for (let key = 0; key < 10; key++) ordered.set(key, "x");
  const seen: number[] = [];
  for (const [key] of ordered) {
    seen.push(key);
    ordered.delete(key);
    if (key === 3) { for (const other of [4, 5, 6]) ordered.delete(other); }
    if (key === 7) ordered.set(2, "again");
  }
  assertEquals([seen, [...ordered]], [[0, 1, 2, 3, 7, 8, 9, 2], []]);
});

/** Counts how often a Map or a Set is iterated: with holes at its beginning, that takes long. */
async function iterations(action: () => unknown): Promise<number> {
  let count = 0;
  const restore: (() => void)[] = [];
  for (const prototype of [Map.prototype, Set.prototype] as object[]) {
    for (const name of ["keys", "values", "entries", Symbol.iterator, "forEach"]) {
      const original = Reflect.get(prototype, name) as (...given: unknown[]) => unknown;
      Reflect.set(prototype, name, function (this: unknown, ...given: unknown[]) {
        count++;
        return original.apply(this, given);
      });
      restore.push(() => Reflect.set(prototype, name, original));
    }
  }
  try {
    await action();
  } finally {
    for (const undo of restore) undo();
  }
  return count;
}

async function repeat(count: number, action: (index: number) => unknown): Promise<void> {
  for (let index = 0; index < count; index++) await action(index);
}

const LOG: LogRef = { name: "t", policy: { age: Infinity, count: 10, bytes: 1e9, dedupe: 1 } };

/** Each of them is full after 50 rounds, and drops its oldest in each further one. */
const BOUNDED: Readonly<Record<string, () => (index: number) => unknown>> = {
  "sessions in memory"() {
    const store = memorySessions({ maxSessions: 50 });
    return (index) => store.set(`${index}`, "x", { expiresIn: 1e9, mustExist: false });
  },
  "callers of a rate limit"() {
    const counts = new MemoryCounts(50);
    return (index) => counts.count({ number: 0, limit: 10, perMs: 60_000 }, `${index}`);
  },
  "ids of a topic in memory, and its messages"() {
    let now = 0;
    const store = new MemoryStore({ now: () => now++ });
    return (index) => store.append(LOG, [{ id: `${index}`, isGenerated: false, type: undefined, data: "1", bytes: 1 }]);
  },
  "logs in memory"() {
    const store = new MemoryStore({ maxBytes: 50 * 2_000 });
    const data = `"${"x".repeat(1_000)}"`;
    return (index) => {
      const log = { ...LOG, name: `${index}` };
      return store.append(log, [{ id: "1", isGenerated: true, type: undefined, data, bytes: 1_000 }]);
    };
  },
  "topics whose names come from requests"() {
    const topics = new Topics({ openStore: () => new MemoryStore(), maxIdle: 50 });
    topics.serve();
    return (index) => topics.topic(`${index}`);
  },
};

for (const [what, make] of Object.entries(BOUNDED)) {
  Deno.test(`No Map is iterated for what is dropped: ${what}`, async () => {
    const action = make();
    await repeat(100, action);
    assertEquals(await iterations(() => repeat(100, (index) => action(100 + index))), 0);
  });
}
