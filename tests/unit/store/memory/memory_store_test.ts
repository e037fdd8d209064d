import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import { LOG_START } from "../../../../src/store/topic_store.ts";
import { Clock } from "../../../contract/clock.ts";
import { append, dataOf, logOf, messageOf, type StoreKind } from "../../../contract/store_fixture.ts";
import { testStore } from "../../../contract/store_suites.ts";

const ALL = { maxMessages: 10_000, maxBytes: 100_000_000 };

const MEMORY: StoreKind = {
  name: "The store in memory",
  prepare: async (now) => {
    const store = new MemoryStore({ now });
    return { open: () => store, [Symbol.asyncDispose]: () => store.close() };
  },
};

testStore(MEMORY);

Deno.test("A store in memory forgets an id after the dedupe window", async () => {
  const clock = new Clock();
  const store = new MemoryStore({ now: clock.now });
  const log = logOf("ids", { dedupe: 1000 });
  await append(store, log, [messageOf(0, "a")]);
  clock.advance(1001);
  assertEquals((await append(store, log, [messageOf(0, "a")])).outcomes[0]!.duplicate, false);
});

Deno.test("A store in memory remembers the last 100,000 ids", async () => {
  const store = new MemoryStore();
  const log = logOf("ids", { count: 1 });
  const isKnown = async (id: string) => (await append(store, log, [messageOf(0, id)])).outcomes[0]!.duplicate;
  for (let batch = 0; batch < 100; batch++) {
    await append(store, log, Array.from({ length: 1000 }, (_, index) => messageOf(0, `${batch} ${index}`)));
  }
  assertEquals(await isKnown("0 0"), true);
  assertEquals(await isKnown("one more"), false);
  assertEquals([await isKnown("0 1"), await isKnown("0 0")], [true, false]);
});

Deno.test("A clock that is set back does not change the order of times", async () => {
  const clock = new Clock();
  const store = new MemoryStore({ now: clock.now });
  const start = clock.now();
  await append(store, logOf("a"), [messageOf(1)]);
  clock.advance(-5000);
  await append(store, logOf("a"), [messageOf(2)]);
  const { messages } = await store.read(logOf("a"), LOG_START, ALL);
  assertEquals(messages.map(({ time }) => time), [start, start]);
});

Deno.test("Beyond its size, a store in memory drops the least recently appended logs", async () => {
  const store = new MemoryStore({ maxBytes: 110_000 });
  const data = "x".repeat(20_000);
  const incarnations = new Map<string, string>();
  for (const name of ["a", "b", "c", "a", "d", "e"]) {
    incarnations.set(name, (await append(store, logOf(name), [messageOf(data)])).incarnation);
  }
  // Six messages do not fit, so the log "b" is dropped.
  for (const [name, kept] of [["a", 2], ["c", 1], ["d", 1], ["e", 1]] as const) {
    const { incarnation, messages } = await store.read(logOf(name), LOG_START, ALL);
    assertEquals([messages.length, incarnation], [kept, incarnations.get(name)!], name);
  }
  const { incarnation, messages } = await store.read(logOf("b"), LOG_START, ALL);
  assertEquals(messages, []);
  assertNotEquals(incarnation, incarnations.get("b"));
});

Deno.test("A log that is larger than the whole store loses its oldest messages", async () => {
  const store = new MemoryStore({ maxBytes: 50_000 });
  for (let data = 0; data < 1000; data++) await append(store, logOf("a"), [messageOf(data)]);
  const { messages, incarnation, lowWatermark } = await store.read(logOf("a"), LOG_START, ALL);
  assert(messages.length > 100 && messages.length < 250, `${messages.length} messages`);
  assertEquals(dataOf(messages).at(-1), 999);
  assert(lowWatermark > LOG_START);
  assertEquals((await store.bounds(logOf("a"))).incarnation, incarnation);
});

Deno.test("Logs that are only read do not fill the store", async () => {
  const store = new MemoryStore({ maxBytes: 100_000 });
  const { incarnation } = await store.bounds(logOf("0"));
  for (let number = 1; number < 1000; number++) await store.bounds(logOf(`${number}`));
  assertNotEquals((await store.bounds(logOf("0"))).incarnation, incarnation);
});

Deno.test("Messages that are too old leave an unused store, by a timer that does not keep a program alive", async () => {
  const timers: { fire: () => void; delay: number }[] = [];
  const unrefs: unknown[] = [];
  const { setTimeout, clearTimeout } = globalThis;
  const { unrefTimer } = Deno;
  const clock = new Clock();
  const log = logOf("aged", { age: 1000 });
  const store = new MemoryStore({ now: clock.now, maxBytes: 100_000 });
  try {
    Object.assign(globalThis, {
      setTimeout: (fire: () => void, delay: number) => timers.push({ fire, delay }),
      clearTimeout: () => {},
    });
    Deno.unrefTimer = (id) => void unrefs.push(id);
    await append(store, logOf("ageless"), [messageOf(0)]);
    assertEquals(timers.length, 0);
    const { incarnation } = await append(store, logOf("ageless"), [messageOf(0)]);
    await append(store, log, [messageOf("x".repeat(90_000))]);
    await append(store, log, [messageOf(1)]);
    assertEquals(timers.length, 1);
    assert(timers[0]!.delay <= 30_000);
    timers[0]!.fire();
    assertEquals(timers.length, 2);
    clock.advance(1001);
    timers[1]!.fire();
    // No message is left that can become too old.
    assertEquals([timers.length, unrefs.length], [2, 2]);
    // Only the sweep has made room for this.
    const { messages } = await store.read(logOf("ageless"), LOG_START, ALL);
    await append(store, logOf("new"), [messageOf("x".repeat(90_000))]);
    assertEquals([messages.length, (await store.bounds(logOf("ageless"))).incarnation], [2, incarnation]);
    await append(store, log, [messageOf(2)]);
    assertEquals(timers.length, 3);
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Deno.unrefTimer = unrefTimer;
    await store.close();
  }
});
