// What every store of topics must do. `testTopicStore` is called with each kind of store.

import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { type Cursor, LOG_START, type ReadLimits, type TopicStore } from "../../src/store/topic_store.ts";
import { Random } from "../unit/support/random.ts";
import { Clock } from "./clock.ts";
import {
  ALL,
  append,
  dataOf,
  logOf,
  messageOf,
  readAll,
  type StoreKind,
  type StoreTest,
  trim,
} from "./store_fixture.ts";
import { testIds } from "./topic_store_ids.ts";

const MINUTE = 60_000;
/** The largest batch of the random test. */
const MAX_BATCH = 5;

/** Registers the tests of a kind of store. */
export function testTopicStore(kind: StoreKind): void {
  const test: StoreTest = (title, body) => {
    Deno.test(`${kind.name}: ${title}`, async () => {
      const clock = new Clock();
      await using fixture = await kind.prepare(clock.now);
      await body({ one: fixture.open(), other: fixture.open(), clock });
    });
  };
  const timed: StoreTest = kind.hasOwnClock ? () => {} : test;

  test("a log that was never used is empty, and has a position to read from", async ({ one, other }) => {
    const { incarnation, lowWatermark, highWatermark } = await one.bounds(logOf("unused"));
    assertMatch(incarnation, /^[0-9a-f]{8}$/);
    assertEquals([lowWatermark, highWatermark], [LOG_START, LOG_START]);
    assertEquals(await other.read(logOf("unused"), highWatermark, ALL), {
      incarnation,
      lowWatermark,
      highWatermark,
      messages: [],
    });
  });

  test("messages are read in the order in which they were appended, as they were", async ({ one, other }) => {
    const log = logOf("order");
    const first = await append(one, log, [messageOf({ n: 1 }, "a", "made"), messageOf([2, "zwei €"])]);
    const second = await append(other, log, [messageOf(null, "b")]);
    const cursors = [...first.outcomes, ...second.outcomes].map(({ cursor }) => cursor);
    for (const store of [one, other]) {
      const { messages, ...bounds } = await store.read(log, LOG_START, ALL);
      assertEquals(bounds, { incarnation: first.incarnation, lowWatermark: LOG_START, highWatermark: cursors[2]! });
      assertEquals(messages.map(({ time: _, ...message }) => message), [
        { cursor: cursors[0]!, type: "made", data: '{"n":1}', bytes: 7 },
        { cursor: cursors[1]!, type: undefined, data: '[2,"zwei €"]', bytes: 14 },
        { cursor: cursors[2]!, type: undefined, data: "null", bytes: 4 },
      ]);
    }
  });

  test("a message keeps the trace of its publisher, if it has one", async ({ one, other }) => {
    const log = logOf("traces");
    const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await append(one, log, [{ ...messageOf(0, "a"), trace }, messageOf(1)]);
    await append(other, log, [{ ...messageOf(2), trace }]);
    for (const store of [one, other]) {
      const { messages } = await store.read(log, LOG_START, ALL);
      assertEquals(messages.map(({ trace }) => trace), [trace, undefined, trace]);
    }
  });

  timed("a message has the time at which it was stored", async ({ one, other, clock }) => {
    const log = logOf("times");
    const start = clock.now();
    await append(one, log, [messageOf(0), messageOf(1)]);
    clock.advance(5);
    await append(other, log, [messageOf(2)]);
    for (const store of [one, other]) {
      const times = (await store.read(log, LOG_START, ALL)).messages.map(({ time }) => time - start);
      assertEquals(times, [0, 0, 5]);
    }
  });

  test("cursors have one width, and their order as texts is that of the messages", async ({ one, other }) => {
    const log = logOf("cursors");
    const cursors: Cursor[] = [];
    for (let round = 0; round < 20; round++) {
      const messages = Array.from({ length: round % 4 + 1 }, () => messageOf(round));
      const { outcomes } = await append(round % 2 ? one : other, log, messages);
      cursors.push(...outcomes.map(({ cursor }) => cursor));
    }
    for (const cursor of cursors) assertMatch(cursor, /^[0-9a-f]{22}$/);
    assertEquals(cursors, [...new Set(cursors)].sort());
    assert(LOG_START < cursors[0]!);
  });

  test("a read sees all appends before it, in whichever process", async ({ one, other }) => {
    const log = logOf("at once");
    let position = LOG_START;
    for (let round = 0; round < 20; round++) {
      await append(one, log, [messageOf(round)]);
      const { messages, highWatermark } = await other.read(log, position, ALL);
      assertEquals(dataOf(messages), [round]);
      assertEquals((await other.bounds(log)).highWatermark, highWatermark);
      position = highWatermark;
    }
  });

  test("a read gives what follows a position, and nothing at the high watermark or beyond", async ({ one }) => {
    const log = logOf("positions");
    const { outcomes } = await append(one, log, [1, 2, 3].map((data) => messageOf(data)));
    for (const [index, { cursor }] of outcomes.entries()) {
      assertEquals(dataOf((await one.read(log, cursor, ALL)).messages), [1, 2, 3].slice(index + 1));
    }
    const { messages, highWatermark } = await one.read(log, "f".repeat(22), ALL);
    assertEquals([messages, highWatermark], [[], outcomes[2]!.cursor]);
  });

  test("a read keeps its limits, but gives one message that is larger", async ({ one }) => {
    const log = logOf("limits");
    await append(one, log, ["aaaa", "bbbb", "c".repeat(98), "d"].map((data) => messageOf(data)));
    const lengths = async (limits: ReadLimits): Promise<number[]> => {
      const found: number[] = [];
      for (let position = LOG_START;;) {
        const { messages } = await one.read(log, position, limits);
        if (messages.length === 0) return found;
        found.push(messages.length);
        position = messages.at(-1)!.cursor;
      }
    };
    assertEquals(await lengths(ALL), [4]);
    assertEquals(await lengths({ ...ALL, maxMessages: 3 }), [3, 1]);
    assertEquals(await lengths({ ...ALL, maxBytes: 12 }), [2, 1, 1]);
    assertEquals(await lengths({ ...ALL, maxBytes: 1 }), [1, 1, 1, 1]);
  });

  test("appends of several processes at once come into one order, each batch in its own", async ({ one, other }) => {
    const log = logOf("concurrent");
    const publish = async (store: TopicStore, name: string): Promise<Cursor[]> => {
      const cursors: Cursor[] = [];
      for (let round = 0; round < 20; round++) {
        const batch = [0, 1, 2].map((part) => messageOf(`${name} ${round * 3 + part}`));
        cursors.push(...(await append(store, log, batch)).outcomes.map(({ cursor }) => cursor));
      }
      return cursors;
    };
    const [ones, others] = await Promise.all([publish(one, "one"), publish(other, "other")]);
    const messages = await readAll(one, log);
    assertEquals(await readAll(other, log), messages);
    assertEquals(messages.map(({ cursor }) => cursor), [...ones, ...others].sort());
    for (const [name, cursors] of [["one", ones], ["other", others]] as const) {
      const own = messages.filter(({ data }) => data.startsWith(`"${name} `));
      assertEquals(dataOf(own), Array.from({ length: 60 }, (_, index) => `${name} ${index}`));
      assertEquals(own.map(({ cursor }) => cursor), cursors);
    }
  });

  testIds(test, timed);

  const bounded = [
    ["number", { count: 2 }, [4, 5]],
    ["size", { bytes: 3 }, [3, 4, 5]],
    ["size, but for the newest", { bytes: 0.5 }, [5]],
  ] as const;
  for (const [bound, policy, kept] of kind.countsMore ? bounded.slice(0, 1) : bounded) {
    test(`messages beyond the ${bound} are removed, the oldest first`, async ({ one, other }) => {
      const log = logOf("bounded", policy);
      const cursors: Cursor[] = [];
      // One by one: a store may remove a batch as a whole, when all of it is beyond the bound.
      for (const data of [1, 2, 3, 4, 5]) {
        const { outcomes: [outcome] } = await append(one, log, [messageOf(data)]);
        cursors.push(outcome!.cursor);
      }
      const low = cursors[4 - kept.length]!;
      const { incarnation } = await trim(one, log);
      // A reader at the low watermark has missed nothing. A reader before it sees that it has.
      for (const position of [LOG_START, low]) {
        const { messages, ...bounds } = await other.read(log, position, ALL);
        assertEquals([bounds, dataOf(messages)], [{ incarnation, lowWatermark: low, highWatermark: cursors[4]! }, [
          ...kept,
        ]]);
      }
    });
  }

  test("a log takes no more than its size, and a message less", async ({ one, other }) => {
    const log = logOf("large messages", { bytes: 1024 * 1024 });
    const bytes = 40_000;
    for (let number = 0; number < 60; number++) await append(one, log, [messageOf(number + "x".repeat(bytes))]);
    await trim(one, log);
    const kept = await readAll(other, log);
    const size = kept.reduce((sum, message) => sum + message.bytes, 0);
    assert(size <= 1024 * 1024 && size > 0.9 * 1024 * 1024, `${size} bytes are kept`);
    assertEquals(dataOf(kept).map((data) => parseInt(data as string)), [...Array(60).keys()].slice(-kept.length));
  });

  timed("messages that are too old are removed, with and without appends", async ({ one, other, clock }) => {
    const log = logOf("age", { age: MINUTE });
    const { outcomes: [first] } = await append(one, log, [messageOf(1)]);
    clock.advance(MINUTE / 2);
    const { outcomes: [second] } = await append(one, log, [messageOf(2)]);
    clock.advance(MINUTE / 2 + 1);
    assertEquals((await trim(other, log)).lowWatermark, first!.cursor);
    assertEquals(dataOf((await one.read(log, LOG_START, ALL)).messages), [2]);
    clock.advance(MINUTE);
    const { lowWatermark, highWatermark } = await trim(one, log);
    assertEquals([lowWatermark, highWatermark], [second!.cursor, second!.cursor]);
    assertEquals((await other.read(log, LOG_START, ALL)).messages, []);
  });

  timed("a log that has become empty continues its positions", async ({ one, clock }) => {
    const log = logOf("emptied", { age: MINUTE });
    const { incarnation, outcomes: [first] } = await append(one, log, [messageOf(1)]);
    clock.advance(2 * MINUTE);
    await trim(one, log);
    const next = await append(one, log, [messageOf(2)]);
    assertEquals(next.incarnation, incarnation);
    assert(next.outcomes[0]!.cursor > first!.cursor);
    assertEquals(dataOf((await one.read(log, first!.cursor, ALL)).messages), [2]);
  });

  timed("a seek finds the position before the first message of a time", async ({ one, other, clock }) => {
    const log = logOf("seek", { age: MINUTE });
    const start = clock.now();
    assertEquals((await one.seek(log, new Date(start))).cursor, LOG_START);
    for (const data of [0, 1, 2]) {
      await append(one, log, [messageOf(data), messageOf(data)]);
      clock.advance(1000);
    }
    const from = async (time: number): Promise<unknown[]> => {
      const { incarnation, cursor } = await other.seek(log, new Date(time));
      const slice = await other.read(log, cursor, ALL);
      assertEquals(slice.incarnation, incarnation);
      return dataOf(slice.messages);
    };
    assertEquals(await from(0), [0, 0, 1, 1, 2, 2]);
    assertEquals(await from(start), [0, 0, 1, 1, 2, 2]);
    assertEquals(await from(start + 1), [1, 1, 2, 2]);
    assertEquals(await from(start + 1000), [1, 1, 2, 2]);
    assertEquals(await from(start + 2001), []);
    clock.advance(MINUTE - 2500);
    await trim(one, log);
    assertEquals(await from(0), [1, 1, 2, 2]);
  });

  test("a log has one incarnation for all processes, also those that use it first at once; no other log has it", async (nodes) => {
    const incarnations = new Set<string>();
    for (let round = 0; round < 5; round++) {
      const log = logOf(`incarnation ${round}`);
      const found = await Promise.all([nodes.one.bounds(log), append(nodes.other, log, [messageOf(0)])]);
      assertEquals(found[0].incarnation, found[1].incarnation);
      incarnations.add(found[0].incarnation);
    }
    assertEquals(incarnations.size, 5);
  });

  test("a watch calls after each append, in whichever process, until it ends", async ({ one, other }) => {
    const log = logOf("watched");
    for (const store of [one, other]) {
      const { promise: called, resolve } = Promise.withResolvers<void>();
      const unwatch = one.watch(log, resolve);
      await append(store, log, [messageOf(0)]);
      await called;
      unwatch();
    }
    let calls = 0;
    const unwatch = one.watch(log, () => calls++);
    unwatch();
    const { promise: called, resolve } = Promise.withResolvers<void>();
    const unwatchLater = one.watch(log, resolve);
    await append(one, log, [messageOf(0)]);
    await called;
    unwatchLater();
    assertEquals(calls, 0);
  });

  test("the largest message and the largest batches are taken", async ({ one, other }) => {
    const { maxMessageBytes, maxBatchMessages, maxBatchBytes } = one.capabilities;
    const log = logOf("large", { bytes: 1e9 });
    const text = (bytes: number) => "x".repeat(bytes - 2);
    const size = Math.floor(maxBatchBytes / maxBatchMessages);
    await append(one, log, [messageOf(text(maxMessageBytes), "日".repeat(256), "日".repeat(256))]);
    await append(
      one,
      log,
      Array.from({ length: maxBatchMessages }, (_, index) => messageOf(0, "日".repeat(252) + index)),
    );
    await append(one, log, Array.from({ length: maxBatchMessages }, () => messageOf(text(size))));
    const { messages: [largest], ...bounds } = await other.read(log, LOG_START, { ...ALL, maxMessages: 1 });
    assertEquals(largest!.data.length, maxMessageBytes);
    assertEquals((await readAll(other, log, { after: largest!.cursor })).length, 2 * maxBatchMessages);
    assertNotEquals(bounds.highWatermark, largest!.cursor);
  });

  test("names, ids and types can be any text, and similar names are different logs", async ({ one, other }) => {
    const texts = [
      "a",
      "a/",
      "a/b",
      "A",
      "a ",
      "__proto__",
      "constructor",
      "0",
      "é",
      "e\u0301",
      "\u0000",
      "日本",
      "😀",
    ];
    for (const name of texts) {
      await append(one, logOf(name), [messageOf(name, name, name), messageOf(`again ${name}`, name)]);
    }
    for (const name of texts) {
      const { messages } = await other.read(logOf(name), LOG_START, ALL);
      assertEquals(messages.map(({ type, data }) => [type, JSON.parse(data)]), [[name, name]], JSON.stringify(name));
    }
  });

  test("whatever is done in whatever order, each read is a part of one history", async ({ one, other, clock }) => {
    const random = new Random(11);
    const log = logOf("random", { count: 30, dedupe: 10 * MINUTE });
    const history: { cursor: Cursor; data: number }[] = [];
    const cursorOfId = new Map<string, Cursor>();
    let low = LOG_START;
    for (let step = 0; step < 300; step++) {
      const store = random.pick([one, other]);
      if (random.oneIn(2)) {
        const batch = [step, ...random.list(MAX_BATCH - 1, () => step)].map((data) =>
          messageOf(data, `id ${random.below(500)}`)
        );
        const { outcomes } = await append(store, log, batch);
        for (const [index, { cursor, duplicate }] of outcomes.entries()) {
          const id = batch[index]!.id!;
          assertEquals(cursorOfId.get(id) ?? cursor, cursor);
          assertEquals(duplicate, cursorOfId.has(id));
          if (!duplicate) history.push({ cursor, data: step });
          cursorOfId.set(id, cursor);
        }
        clock.advance(1);
      } else if (random.oneIn(4)) {
        low = (await trim(store, log)).lowWatermark;
        const kept = history.filter(({ cursor }) => cursor > low).length;
        assert(kept >= Math.min(30, history.length) && kept < 30 + MAX_BATCH, `${kept} are kept`);
      } else {
        const position = history.length === 0 ? LOG_START : random.pick(history).cursor;
        const slice = await store.read(log, position, { ...ALL, maxMessages: 1 + random.below(10) });
        assert(slice.lowWatermark >= low);
        low = slice.lowWatermark;
        const expected = history.filter(({ cursor }) => cursor > position && cursor > slice.lowWatermark);
        const found = slice.messages.map(({ cursor, data }) => ({ cursor, data: JSON.parse(data) }));
        assertEquals(found, expected.slice(0, found.length));
        assert(found.length > 0 || expected.length === 0);
        assertEquals(slice.highWatermark, history.at(-1)?.cursor ?? LOG_START);
      }
    }
  });

  test("a closed store refuses all calls", async ({ one, other }) => {
    const log = logOf("closed");
    let calls = 0;
    one.watch(log, () => calls++);
    await one.close();
    await other.close();
    await assertRejects(() => one.bounds(log), Error, "closed");
    await assertRejects(() => append(one, log, [messageOf(0)]), Error, "closed");
    await assertRejects(() => one.read(log, LOG_START, ALL), Error, "closed");
    await assertRejects(() => one.seek(log, new Date()), Error, "closed");
    await assertRejects(() => trim(one, log), Error, "closed");
    assertEquals(calls, 0);
  });
}
