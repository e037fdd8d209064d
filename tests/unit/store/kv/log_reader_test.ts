// Reads of logs with obstacles.

import { assert, assertEquals } from "@std/assert";
import { SimulatedDatabase } from "../../../../dev/faults/simulation/database.ts";
import { inVirtualTime } from "../../../../dev/faults/simulation/virtual_time.ts";
import type { KvEngine } from "../../../../src/store/kv/engine.ts";
import { lowWatermarkKey } from "../../../../src/store/kv/keys.ts";
import { KvStore } from "../../../../src/store/kv/kv_store.ts";
import { READ_LIMITS } from "../../../../src/topics/topic_log.ts";
import { LOG_START, type LogRef, type ReadLimits } from "../../../../src/store/topic_store.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll } from "../../../contract/store_fixture.ts";
import { Random } from "../../support/random.ts";
import { losableStore } from "./losable_store.ts";

const LOG = logOf("orders");
const AT_END: ReadLimits = { ...READ_LIMITS, isLive: true };

Deno.test("Entries before the beginning of a log that were not removed do not hide its messages", async () => {
  const { lost, store, elsewhere } = losableStore();
  for (let number = 0; number < 200; number++) await append(store, LOG, [messageOf(number)]);
  const { messages } = await store.read(LOG, LOG_START, ALL);
  const low = messages.at(-1)!.cursor;
  await lost.write({ sets: [{ key: lowWatermarkKey("orders"), value: new TextEncoder().encode(low) }] });
  const page = await store.read(LOG, LOG_START, ALL);
  assertEquals([page.lowWatermark, dataOf(page.messages)[0]], [low, messages.length]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Where a database is lost while messages that are too old are passed over, it is read from its beginning", async () => {
  const { lost, anew, store, elsewhere, lose } = losableStore();
  const log = logOf("orders", { age: 1 });
  for (let number = 0; number < 200; number++) await append(store, log, [messageOf(number)]);
  await append(elsewhere, log, [messageOf("anew")]);
  const { list } = lost;
  let reads = 0;
  lost.list = (from, to, limit) => {
    if (++reads === 1) return list(from, to, limit);
    lose();
    return anew.list(from, to, limit);
  };
  const page = await store.read(log, LOG_START, ALL);
  const { incarnation, highWatermark } = await elsewhere.bounds(log);
  assertEquals(reads, 2);
  assertEquals([page.incarnation, page.highWatermark], [incarnation, highWatermark]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("When a database is lost between the two reads of a page, the page has no message of the lost one", async () => {
  const { lost, store, elsewhere, lose } = losableStore();
  for (let number = 0; number < 200; number++) await append(store, LOG, [messageOf(number)]);
  await append(elsewhere, LOG, [messageOf("anew")]);
  const { list } = lost;
  lost.list = async (from, to, limit) => {
    const entries = await list(from, to, limit);
    lose();
    return entries;
  };
  const page = await store.read(LOG, LOG_START, ALL);
  assertEquals([dataOf(page.messages), page.incarnation], [["anew"], (await elsewhere.bounds(LOG)).incarnation]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Messages have the time of the database, and are too old by it, whatever the clock is here", async () => {
  await inVirtualTime(new Random(1), async () => {
    const ahead = 3_600_000;
    const { store } = storeBy(new SimulatedDatabase(new Random(1)), () => Promise.resolve(), () => {}, ahead);
    const log = logOf("orders", { age: 10_000 });
    await store.bounds(log);
    await append(store, log, [messageOf("first")]);
    const { messages } = await store.read(log, LOG_START, ALL);
    assertEquals(messages.map(({ time }) => time), [Date.now() + ahead]);
    await new Promise((resolve) => setTimeout(resolve, 11_000));
    assertEquals((await store.read(log, LOG_START, ALL)).messages, []);
    await store.close();
  });
});

/**
 * A store that reaches a database over a line, and the bytes on that line. Closing the connection
 * drops what is on its way. The clock of the database is ahead by this many milliseconds.
 */
function storeBy(database: SimulatedDatabase, line: (bytes: number) => Promise<void>, letGo = () => {}, ahead = 0) {
  const readings: { records: number; bytes: number }[] = [];
  const engine: KvEngine = {
    get: (keys) => Promise.resolve(database.get(keys)),
    list: async (from, to, limit) => {
      const entries = database.list(from, to, limit);
      const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
      readings.push({ records: entries.length, bytes });
      await line(bytes);
      return entries;
    },
    write: (write) => Promise.resolve(database.write(write)),
    watch: async function* () {},
    close: letGo,
    now: () => Date.now() + ahead,
  };
  const options = { name: "simulated", interval: 50, isLogged: false };
  return { store: new KvStore({ ...options, open: () => Promise.resolve(engine) }), readings };
}

/** A line with this total rate, in bytes per millisecond. */
function slowLine(rate: number) {
  let free = 0;
  const carry = async (bytes: number) => {
    free = Math.max(free, Date.now()) + bytes / rate;
    await new Promise((resolve) => setTimeout(resolve, free - Date.now()));
  };
  return { carry, letGo: () => void (free = 0) };
}

/** Reads a log to its end, as readers do. Gives how many messages it has. */
async function readOn(store: KvStore, log: LogRef): Promise<number> {
  return (await readAll(store, log, { limits: READ_LIMITS })).length;
}

Deno.test("A reading brings about as much as a reader takes, of large messages and of small ones", async () => {
  const { store, readings } = storeBy(new SimulatedDatabase(new Random(1)), () => Promise.resolve());
  for (const [size, together] of [[60_000, 1], [100, 1], [100, 200]] as const) {
    const log = logOf(`of ${together} times ${size}`);
    const messages = Array.from({ length: together }, () => messageOf("x".repeat(size)));
    for (let record = 0; record < 200; record++) await append(store, log, messages);
    readings.length = 0;
    assertEquals(await readOn(store, log), 200 * together);
    const sum = readings.reduce((sum, { bytes }) => sum + bytes, 0);
    assert(readings.every(({ bytes }) => bytes <= 1.3 * 1024 * 1024), `${readings.map((r) => r.bytes)}`);
    // Of two records a reader takes some messages only, and three more records may be read.
    assert(sum < 5 * 200 * together * (size + 10), `${sum} bytes of ${200 * together * size}`);
    assert(readings.length < (together === 1 ? 30 : 170), `${readings.length} readings`);
    readings.length = 0;
    await store.trim({ ...log, policy: { ...log.policy, count: 10 * together } });
    assert(readings.every(({ bytes }) => bytes <= 1.3 * 1024 * 1024), `${readings.map((r) => r.bytes)}`);
    assertEquals(await readOn(store, log), 10 * together);
  }
  await store.close();
});

Deno.test("The size of reads of one log does not depend on another log", async () => {
  const { store, readings } = storeBy(new SimulatedDatabase(new Random(1)), () => Promise.resolve());
  const [small, large] = [logOf("small"), logOf("large")];
  for (let number = 0; number < 400; number++) await append(store, small, [messageOf(number)]);
  for (let number = 0; number < 100; number++) await append(store, large, [messageOf("x".repeat(60_000))]);
  readings.length = 0;
  await readOn(store, small);
  await readOn(store, large);
  assert(readings.every(({ bytes }) => bytes <= 1.3 * 1024 * 1024), `${readings.map((r) => r.bytes)}`);
  await store.close();
});

Deno.test("With any number of readers far behind, the bytes on their way are limited, and readers at the end do not wait", async () => {
  await inVirtualTime(new Random(1), async () => {
    let [onItsWay, most] = [0, 0];
    const { store } = storeBy(new SimulatedDatabase(new Random(1)), async (bytes) => {
      most = Math.max(most, onItsWay += bytes);
      await new Promise((resolve) => setTimeout(resolve, 100));
      onItsWay -= bytes;
    });
    const log = logOf("orders", { bytes: Infinity });
    for (let number = 0; number < 200; number++) await append(store, log, [messageOf("x".repeat(60_000))]);
    const { highWatermark } = await store.bounds(log);
    await readOn(store, log);
    const begin = Date.now();
    const behind = Promise.all(Array.from({ length: 100 }, () => store.read(log, LOG_START, READ_LIMITS)));
    await store.read(log, highWatermark, AT_END);
    assert(Date.now() - begin < 200);
    const pages = await behind;
    assert(Date.now() - begin > 1_000);
    assert(pages.every(({ messages }) => messages.length > 10));
    assert(most > 4 * 1024 * 1024 && most < 10 * 1024 * 1024, `${most} bytes were on their way`);
    await store.close();
  });
});

Deno.test("A reader at the end waits for no other reader, though others that are behind have seen new messages", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { store } = storeBy(
      new SimulatedDatabase(new Random(1)),
      () => new Promise((resolve) => setTimeout(resolve, 200)),
    );
    const [log, other] = [logOf("orders", { bytes: Infinity }), logOf("other")];
    for (let number = 0; number < 200; number++) await append(store, log, [messageOf("x".repeat(60_000))]);
    await append(store, other, [messageOf("first")]);
    let { highWatermark } = await store.bounds(log);
    let { highWatermark: otherHead } = await store.bounds(other);
    await readOn(store, log);
    let isOver = false;
    const behind = Promise.all(Array.from({ length: 200 }, async () => {
      while (!isOver) await store.read(log, LOG_START, READ_LIMITS);
    }));
    for (let number = 0; number < 10; number++) {
      await append(store, log, [messageOf(number)]);
      await append(store, other, [messageOf(number)]);
      const begin = Date.now();
      highWatermark = (await store.read(log, highWatermark, AT_END)).messages.at(-1)!.cursor;
      otherHead = (await store.read(other, otherHead, AT_END)).messages.at(-1)!.cursor;
      assert(Date.now() - begin < 500, `it took ${Date.now() - begin} ms`);
    }
    isOver = true;
    await behind;
    await store.close();
  });
});

Deno.test("When the database is away, all waiting reads fail at about the same time", async () => {
  await inVirtualTime(new Random(1), async () => {
    let isAway = false;
    const line = () => isAway ? new Promise<never>(() => {}) : Promise.resolve();
    const { store } = storeBy(new SimulatedDatabase(new Random(1)), line);
    const logs = Array.from({ length: 500 }, (_, number) => logOf(`orders ${number}`));
    for (const log of logs) await append(store, log, [messageOf("first")]);
    isAway = true;
    const begin = Date.now();
    const outcomes = await Promise.allSettled(logs.map((log) => store.read(log, LOG_START, READ_LIMITS)));
    assert(outcomes.every(({ status }) => status === "rejected"));
    assert(Date.now() - begin < 70_000, `it took ${Date.now() - begin} ms`);
    await store.close();
  });
});

Deno.test("On a slow line, reads become smaller until they come in time", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { carry, letGo } = slowLine(250);
    const { store } = storeBy(new SimulatedDatabase(new Random(1)), carry, letGo);
    const log = logOf("orders", { bytes: Infinity });
    for (let number = 0; number < 100; number++) await append(store, log, [messageOf("x".repeat(60_000))]);
    assertEquals(await Promise.all([readOn(store, log), readOn(store, log), readOn(store, log)]), [100, 100, 100]);
    await store.close();
  });
});

Deno.test("Large messages that follow on small ones are read by a slow line, too", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { carry, letGo } = slowLine(250);
    const { store } = storeBy(new SimulatedDatabase(new Random(1)), carry, letGo);
    const log = logOf("orders", { bytes: Infinity });
    for (let number = 0; number < 500; number++) await append(store, log, [messageOf(number)]);
    for (let number = 0; number < 200; number++) await append(store, log, [messageOf("x".repeat(60_000))]);
    assertEquals(await readOn(store, log), 700);
    await store.close();
  });
});

Deno.test("When a slow line has become fast again, as much is read at once as before", async () => {
  await inVirtualTime(new Random(1), async () => {
    let isSlow = true;
    const line = () => new Promise<void>((resolve) => setTimeout(resolve, isSlow ? 5_000 : 1));
    const { store, readings } = storeBy(new SimulatedDatabase(new Random(1)), line);
    const log = logOf("orders", { bytes: Infinity });
    for (let number = 0; number < 100; number++) await append(store, log, [messageOf("x".repeat(40_000))]);
    await store.read(log, LOG_START, READ_LIMITS).catch(() => {});
    isSlow = false;
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    readings.length = 0;
    await readOn(store, log);
    assert(readings.length < 12, `${readings.length} readings`);
    await store.close();
  });
});

for (const [rate, readers] of [[2_000, 300], [250, 60]] as const) {
  const who = `However many come to read what they have missed, by a line of ${rate} bytes a millisecond`;
  Deno.test(`${who}, none fails, nor who publishes`, async () => {
    const random = new Random(1);
    await inVirtualTime(random, async () => {
      const { carry, letGo } = slowLine(rate);
      const { store } = storeBy(new SimulatedDatabase(random), carry, letGo);
      const log = logOf("orders", { bytes: Infinity });
      const { outcomes: [first] } = await append(store, log, [messageOf("first")]);
      // Some reader was at the end once.
      await store.read(log, first!.cursor, AT_END);
      for (let number = 0; number < 400; number++) {
        await append(store, log, [messageOf("x".repeat(10_000 + random.below(20_000)))]);
      }
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      let slowest = 0;
      let isOver = false;
      const publishing = (async () => {
        while (!isOver) {
          const begin = Date.now();
          await store.read(log, (await append(store, log, [messageOf("next")])).outcomes[0]!.cursor, AT_END);
          slowest = Math.max(slowest, Date.now() - begin);
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      })();
      await Promise.all(Array.from({ length: readers }, () => store.read(log, first!.cursor, READ_LIMITS)));
      isOver = true;
      await publishing;
      assert(slowest < 10_000, `it took ${slowest} ms`);
      await store.close();
    });
  });
}

Deno.test("A read that waits for its turn when the store is closed fails, and sends nothing more", async () => {
  await inVirtualTime(new Random(1), async () => {
    const line = () => new Promise<void>((resolve) => setTimeout(resolve, 2_000));
    const { store, readings } = storeBy(new SimulatedDatabase(new Random(1)), line);
    const log = logOf("orders", { bytes: Infinity });
    for (let number = 0; number < 100; number++) await append(store, log, [messageOf("x".repeat(60_000))]);
    const reading = Promise.allSettled(Array.from({ length: 100 }, () => store.read(log, LOG_START, READ_LIMITS)));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await store.close();
    const { length } = readings;
    const outcomes = await reading;
    assert(outcomes.some(({ status }) => status === "rejected"));
    assertEquals(readings.length, length);
  });
});

Deno.test("Trimming a log that has a reader costs as many reads as trimming any other", async () => {
  const { store, readings } = storeBy(new SimulatedDatabase(new Random(1)), () => Promise.resolve());
  const log = logOf("orders", { count: 100 });
  for (let number = 0; number < 3_000; number++) await append(store, log, [messageOf(number)]);
  let { highWatermark } = await store.bounds(log);
  let isOver = false;
  readings.length = 0;
  const trimming = store.trim(log).then(() => isOver = true);
  let readingsOfEnd = 0;
  while (!isOver) {
    await append(store, log, [messageOf("next")]);
    highWatermark = (await store.read(log, highWatermark, AT_END)).messages.at(-1)!.cursor;
    readingsOfEnd++;
  }
  await trimming;
  // To measure and to remove, each a page of 128 records at a time, by two readings.
  assert(readings.length - readingsOfEnd < 100, `${readings.length - readingsOfEnd} readings`);
  await store.close();
});
