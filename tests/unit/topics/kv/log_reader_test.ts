// What is read of logs of which something is in the way.

import { assert, assertEquals } from "@std/assert";
import { SimulatedDatabase } from "../../../../faults/simulation/database.ts";
import type { KvEngine } from "../../../../src/topics/kv/engine.ts";
import { lowKey } from "../../../../src/topics/kv/keys.ts";
import { KvStore } from "../../../../src/topics/kv/kv_store.ts";
import { READ_LIMITS } from "../../../../src/topics/log_reader.ts";
import { LOG_START } from "../../../../src/topics/store.ts";
import { ALL, append, dataOf, logOf, messageOf } from "../../../contract/store_fixture.ts";
import { Random } from "../../support/random.ts";
import { losableStore } from "./losable_store.ts";

const LOG = logOf("orders");

Deno.test("However much lies before the beginning of a log and was not removed, what comes after it is read", async () => {
  const { lost, store, elsewhere } = losableStore();
  for (let number = 0; number < 200; number++) await append(store, LOG, [messageOf(number)]);
  const { messages } = await store.read(LOG, LOG_START, ALL);
  const low = messages.at(-1)!.cursor;
  await lost.write({ sets: [{ key: lowKey("orders"), value: new TextEncoder().encode(low) }] });
  const page = await store.read(LOG, LOG_START, ALL);
  assertEquals([page.low, dataOf(page.messages)[0]], [low, messages.length]);
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
  const { epoch, head } = await elsewhere.bounds(log);
  assertEquals(reads, 2);
  assertEquals([page.epoch, page.head], [epoch, head]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("A reading brings about as much as a reader takes, of large messages and of small ones", async () => {
  const database = new SimulatedDatabase(new Random(1));
  const readings: { frames: number; bytes: number }[] = [];
  const engine: KvEngine = {
    get: (keys) => Promise.resolve(database.get(keys)),
    list: (from, to, limit) => {
      const entries = database.list(from, to, limit);
      readings.push({ frames: entries.length, bytes: entries.reduce((sum, { value }) => sum + value.length, 0) });
      return Promise.resolve(entries);
    },
    write: (write) => Promise.resolve(database.write(write)),
    watch: async function* () {},
    close: () => {},
  };
  const store = new KvStore({ name: "simulated", interval: 50, open: () => Promise.resolve(engine) });
  for (const [size, frames] of [[60_000, 17], [100, 32]] as const) {
    const log = logOf(`of ${size}`);
    for (let number = 0; number < 200; number++) await append(store, log, [messageOf("x".repeat(size))]);
    readings.length = 0;
    let read = 0;
    for (let after = LOG_START; read < 200;) {
      const { messages } = await store.read(log, after, READ_LIMITS);
      read += messages.length;
      after = messages.at(-1)!.cursor;
    }
    assert(readings.every(({ bytes }, index) => bytes <= (index === 0 ? 2.1 : 1.2) * 1024 * 1024));
    assert(readings.slice(1, -1).every((reading) => reading.frames >= frames), `${readings.map((r) => r.frames)}`);
    readings.length = 0;
    await store.trim({ ...log, policy: { ...log.policy, count: 10 } });
    assert(readings.every(({ bytes }) => bytes <= 1.2 * 1024 * 1024), `${readings.map((r) => r.bytes)}`);
    assertEquals((await store.read(log, LOG_START, READ_LIMITS)).messages.length, 10);
  }
  await store.close();
});
