// The requests of trimming, and that nothing blocks it.

import { assert, assertEquals } from "@std/assert";
import { SimulatedDatabase } from "../../../../dev/faults/simulation/database.ts";
import { inVirtualTime } from "../../../../dev/faults/simulation/virtual_time.ts";
import { KvStore, toConnection } from "../../../../src/store/kv/kv_store.ts";
import { type KvEngine, type KvKey, type KvWrite, toEngine } from "../../../../src/store/kv/engine.ts";
import { Incarnations } from "../../../../src/store/kv/incarnation.ts";
import { batchesPrefix, endOf, headKey, lowWatermarkKey, POLICIES_START } from "../../../../src/store/kv/keys.ts";
import { KvLogReader } from "../../../../src/store/kv/log_reader.ts";
import { RetentionWorker } from "../../../../src/store/kv/retention_worker.ts";
import { LOG_START } from "../../../../src/store/topic_store.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll } from "../../../contract/store_fixture.ts";
import { Random } from "../../support/random.ts";
import { losableStore } from "./losable_store.ts";

Deno.test("A round of trimming ends when it is closed, also where the database does not answer", async () => {
  const asked = Promise.withResolvers<void>();
  const engine = {
    get: () => {
      asked.resolve();
      return new Promise<never>(() => {});
    },
    close: () => {},
  } as Partial<KvEngine> as KvEngine;
  const open = () => Promise.resolve(engine);
  const connection = toConnection({ name: "a silent one", open, requestTimeout: 1, retryTimeout: Infinity });
  const incarnations = new Incarnations(connection, () => {});
  const reader = new KvLogReader(incarnations, Date.now);
  const worker = new RetentionWorker(incarnations, reader, 1, Date.now);
  // The worker's own timer keeps no program alive.
  const keeping = setInterval(() => {}, 1_000);
  worker.start();
  await asked.promise;
  await worker.close();
  await worker.release();
  await connection.close();
  clearInterval(keeping);
});

/** A worker for an empty database, and the requests to the database. */
async function workerOf(
  onAsked: (action: "get" | "list" | "write", argument: readonly KvKey[] | KvKey | KvWrite) => void,
): Promise<{ store: KvStore; engine: KvEngine; worker: RetentionWorker; close: () => Promise<void> }> {
  const kv = await Deno.openKv(":memory:");
  const engine = { ...toEngine(kv), close: () => {} };
  const asked: KvEngine = {
    ...engine,
    get: (keys) => (onAsked("get", keys), engine.get(keys)),
    list: (from, to, limit) => (onAsked("list", from), engine.list(from, to, limit)),
    write: (write) => (onAsked("write", write), engine.write(write)),
  };
  const store = new KvStore({ name: "memory", interval: 50, open: () => Promise.resolve(engine) });
  const connection = toConnection({ name: "memory", open: () => Promise.resolve(asked) });
  const incarnations = new Incarnations(connection, () => {});
  const reader = new KvLogReader(incarnations, Date.now);
  const worker = new RetentionWorker(incarnations, reader, 1, Date.now);
  // The worker's own timer keeps no program alive.
  const keeping = setInterval(() => {}, 1_000);
  const close = async () => {
    clearInterval(keeping);
    await worker.close();
    await connection.close();
    await store.close();
    kv.close();
  };
  return { store, engine, worker, close };
}

Deno.test("If there is nothing to remove, the heads of ten logs cost one read", async () => {
  const rounds: number[] = [];
  const third = Promise.withResolvers<void>();
  const { store, worker, close } = await workerOf((action, argument) => {
    const isRound = action === "list" && (argument as KvKey).join() === POLICIES_START.join();
    if (isRound && rounds.push(0) === 3) third.resolve();
    const isOfHeads = action === "get" && (argument as KvKey[])[0]!.at(-1) === "head";
    if (isOfHeads && rounds.length > 0) rounds[rounds.length - 1]!++;
  });
  for (let number = 0; number < 30; number++) await append(store, logOf(`log ${number}`), [messageOf(number)]);
  worker.start();
  await third.promise;
  await close();
  assertEquals(rounds[1], 3);
});

Deno.test("A log that cannot be read is left alone, and the others are trimmed", async () => {
  const removed = Promise.withResolvers<void>();
  const { store, engine, worker, close } = await workerOf((action, argument) => {
    if (action === "write" && ((argument as KvWrite).deletes ?? []).length > 0) removed.resolve();
  });
  await append(store, logOf("a"), [messageOf(1)]);
  // As a later version might write it.
  await engine.write({ append: { prefix: batchesPrefix("a"), value: new Uint8Array([2, 0, 0, 0]) } });
  const log = logOf("b", { count: 1 });
  for (let number = 1; number <= 3; number++) await append(store, log, [messageOf(number)]);
  worker.start();
  await removed.promise;
  await close();
});

Deno.test("In a recreated database, nothing is removed by the index of the lost one", async () => {
  const { lost, anew, store, elsewhere, lose } = losableStore();
  const log = logOf("orders", { count: 3 });
  const pass = async (engine: KvEngine) => {
    for (let write = 0; write < 50; write++) {
      await engine.write({ sets: [{ key: ["other"], value: new Uint8Array() }] });
    }
  };
  await pass(lost);
  for (const message of ["a", "b", "c"]) await append(store, log, [messageOf(message)]);
  await store.trim(log);
  for (const message of ["d", "e"]) await append(elsewhere, log, [messageOf(message)]);
  for (let time = 0; time < 3; time++) await pass(anew);
  await append(elsewhere, log, [messageOf("f")]);
  lose();
  await store.trim(log);
  assertEquals(dataOf((await store.read(log, LOG_START, ALL)).messages), ["d", "e", "f"]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("A removal that was planned when the database was lost does not happen in the new one", async () => {
  let lostAt: KvWrite | undefined;
  const { anew, store, elsewhere, lose } = losableStore(async (write) => {
    if (!write.deletes?.length || lostAt) return;
    lostAt = write;
    lose();
    for (const message of ["d", "e"]) await append(elsewhere, log, [messageOf(message)]);
  });
  const log = logOf("orders", { count: 1 });
  for (const message of ["a", "b", "c"]) await append(store, log, [messageOf(message)]);
  await store.trim(log);
  assertEquals([lostAt?.deletes?.length, await anew.get([lowWatermarkKey("orders")])], [2, [undefined]]);
  assertEquals(dataOf((await store.read(log, LOG_START, ALL)).messages), ["d", "e"]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("A removal continues when another node removes the same messages", async () => {
  const database = new SimulatedDatabase(new Random(1));
  const log = logOf("orders", { count: 1 });
  let isMeddling = false;
  const removal = () => {
    if (!isMeddling) return;
    isMeddling = false;
    // More than one removal takes, after the low watermark was read, and before it is read again.
    const records = database.list([...batchesPrefix(log.name), "0"], headKey(log.name), 400);
    const value = new TextEncoder().encode(endOf(records.at(-1)!.key.at(-1)!));
    database.write({ sets: [{ key: lowWatermarkKey(log.name), value }], deletes: records.map(({ key }) => key) });
  };
  const store = storeOf(database, { removal });
  for (let number = 0; number < 450; number++) await append(store, log, [messageOf(number)]);
  isMeddling = true;
  await store.trim(log);
  await store.trim(log);
  assertEquals(dataOf((await store.read(log, LOG_START, ALL)).messages), [449]);
  await store.close();
});

Deno.test("A removal that comes after one that went further does not have the log begin earlier, where nothing is any more", async () => {
  const { lost, store } = losableStore(async ({ deletes }) => {
    // The last request runs first.
    if (deletes?.length === 2) await ahead.trim({ ...log, policy: { ...log.policy, count: 1 } });
  });
  const ahead = new KvStore({ name: "ahead", interval: 50, open: () => Promise.resolve(lost) });
  const log = logOf("orders", { count: 8 });
  for (let number = 0; number < 10; number++) await append(store, log, [messageOf(number)]);
  const { messages } = await store.read(log, LOG_START, ALL);
  await store.trim(log);
  const page = await store.read(log, LOG_START, ALL);
  assertEquals([dataOf(page.messages), page.lowWatermark], [[9], messages[8]!.cursor]);
  await Promise.all([store.close(), ahead.close()]);
});

Deno.test("A log that is trimmed twice at the same time keeps the right messages", async () => {
  const store = storeOf(new SimulatedDatabase(new Random(1)));
  const log = logOf("orders", { count: 10 });
  await append(store, log, [messageOf(0)]);
  await store.trim(log);
  for (let number = 1; number < 10; number++) await append(store, log, [messageOf(number)]);
  await Promise.all([store.trim(log), store.trim(log)]);
  await store.trim(log);
  assertEquals((await store.read(log, LOG_START, ALL)).messages.length, 10);
  await store.close();
});

Deno.test("Messages of an ended program are trimmed by a program that reads", async () => {
  await inVirtualTime(new Random(1), async () => {
    const database = new SimulatedDatabase(new Random(1));
    const log = logOf("orders", { count: 1 });
    const reading = storeOf(database);
    const unwatch = reading.watch(log, () => {});
    const publishing = storeOf(database);
    for (const data of ["a", "b"]) await append(publishing, log, [messageOf(data)]);
    await publishing.close();
    await new Promise((resolve) => setTimeout(resolve, 30_000));
    assertEquals(dataOf((await reading.read(log, LOG_START, ALL)).messages), ["b"]);
    unwatch();
    await reading.close();
  });
});

for (const [what, logs, records] of [["all logs", 60, 1], ["one log", 1, 4_000]] as const) {
  Deno.test(`If it takes long to measure ${what}, one node does it, once`, async () => {
    await inVirtualTime(new Random(1), async () => {
      const database = new SimulatedDatabase(new Random(1));
      const publishing = storeOf(database);
      for (let log = 0; log < logs; log++) {
        for (let record = 0; record < records; record++) {
          await append(publishing, logOf(`log ${log}`), [messageOf(record)]);
        }
      }
      await publishing.close();
      // Longer than another node waits for the holder of the lease.
      const countReadings = async (nodes: number) => {
        let read = 0;
        const stores = Array.from(
          { length: nodes },
          () => storeOf(database, { read: () => void read++, delay: 1_000 }),
        );
        const unwatch = stores.map((store) => store.watch(logOf("orders"), () => {}));
        await new Promise((resolve) => setTimeout(resolve, 600_000));
        for (const end of unwatch) end();
        await Promise.all(stores.map((store) => store.close()));
        return read;
      };
      const alone = await countReadings(1);
      assert(alone > 40);
      assertEquals(await countReadings(3), alone);
    });
  });
}

Deno.test("A log that grows faster than it is read is trimmed, and so are the others", async () => {
  await inVirtualTime(new Random(1), async () => {
    const database = new SimulatedDatabase(new Random(1));
    const [busy, quiet] = [logOf("busy", { count: 1_000 }), logOf("quiet", { count: 10 })];
    let isBusy = false;
    // More than a page has.
    const grow = async () => {
      for (let number = 0; isBusy && number < 200; number++) await append(publishing, busy, [messageOf(number)]);
    };
    const trimming = storeOf(database, { read: grow, delay: 500 });
    const unwatch = trimming.watch(quiet, () => {});
    const publishing = storeOf(database);
    // The worker holds the lease then.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    isBusy = true;
    await grow();
    for (let number = 0; number < 100; number++) await append(publishing, quiet, [messageOf(number)]);
    await new Promise((resolve) => setTimeout(resolve, 30_000));
    isBusy = false;
    const { lowWatermark } = await trimming.bounds(busy);
    assert(lowWatermark > LOG_START);
    assertEquals((await readAll(trimming, quiet)).length, 10);
    unwatch();
    await Promise.all([trimming.close(), publishing.close()]);
  });
});

for (const [from, to] of [[{ bytes: 6_400_000 }, { bytes: 64_000 }], [{ count: 64_000 }, { count: 320 }]]) {
  Deno.test(`A log of which less is kept from now on keeps all of that: ${JSON.stringify(to)}`, async () => {
    const store = storeOf(new SimulatedDatabase(new Random(1)));
    for (let number = 0; number < 1_000; number++) {
      await append(store, logOf("orders", from), [messageOf("x".repeat(198))]);
    }
    await store.trim(logOf("orders", from));
    await store.trim(logOf("orders", to));
    const kept = (await readAll(store, logOf("orders", to))).length;
    assert(kept >= 320 * (1 - 1 / 64) && kept <= 320 * (1 + 1 / 64), `${kept} are kept`);
    await store.close();
  });
}

Deno.test("A log whose messages disappeared unnoticed does not block trimming", async () => {
  const database = new SimulatedDatabase(new Random(1));
  const log = logOf("orders", { count: 1 });
  const store = storeOf(database, {
    removal: () => {
      const records = database.list([...batchesPrefix(log.name), "0"], headKey(log.name), 400);
      database.write({ deletes: records.map(({ key }) => key) });
    },
  });
  for (let number = 0; number < 9; number++) await append(store, log, [messageOf(number)]);
  await store.trim(log);
  await append(store, log, [messageOf("next")]);
  assertEquals(dataOf(await readAll(store, log)), ["next"]);
  await store.close();
});

Deno.test("A log of many small writes keeps the right number of messages", async () => {
  const store = storeOf(new SimulatedDatabase(new Random(1)));
  const log = logOf("orders", { count: 3_000 });
  for (let number = 0; number < 6_000; number++) {
    await append(store, log, [messageOf(number)]);
    if (number % 100 === 0) await store.trim(log);
  }
  await store.trim(log);
  const kept = (await readAll(store, log)).length;
  assert(kept >= 3_000 && kept <= 3_000 * (1 + 1 / 64), `${kept} are kept`);
  await store.close();
});

/** Called when a log is read. */
interface OnRead {
  /** Is called for each part of a log. */
  readonly read?: () => void | Promise<void>;
  /** Is called when a removal has read where a log begins. */
  readonly removal?: () => void;
  /** How long it takes to read a part, in milliseconds. */
  readonly delay?: number;
}

/** A store over a database. */
function storeOf(database: SimulatedDatabase, { read, removal, delay }: OnRead = {}): KvStore {
  const engine: KvEngine = {
    get: (keys) => {
      const entries = database.get(keys);
      if (keys[1]?.at(-1) === "low") removal?.();
      return Promise.resolve(entries);
    },
    list: async (from, to, limit) => {
      const entries = database.list(from, to, limit);
      if (from[2] !== "log") return entries;
      await read?.();
      if (delay !== undefined) await new Promise((resolve) => setTimeout(resolve, delay));
      return entries;
    },
    write: (write) => Promise.resolve(database.write(write)),
    watch: async function* () {},
    close: () => {},
  };
  return new KvStore({ name: "simulated", interval: 50, open: () => Promise.resolve(engine) });
}
