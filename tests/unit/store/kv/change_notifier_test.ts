// The logs whose growth is notified.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { SimulatedDatabase } from "../../../../dev/faults/simulation/database.ts";
import { inVirtualTime } from "../../../../dev/faults/simulation/virtual_time.ts";
import { type KvEngine, type KvEntry, type KvKey, type KvRange, toEngine } from "../../../../src/store/kv/engine.ts";
import { changedKey, shardOf } from "../../../../src/store/kv/keys.ts";
import { KvStore } from "../../../../src/store/kv/kv_store.ts";
import { append, logOf, messageOf } from "../../../contract/store_fixture.ts";
import { until } from "../../../support/wait.ts";
import { Random } from "../../support/random.ts";
import { losableStore } from "./losable_store.ts";

const LOG = logOf("orders");

function isPoll(keys: readonly KvKey[]): boolean {
  return keys[1]?.join() === changedKey(0).join();
}

Deno.test("A watcher is notified after its database was recreated, also if a publisher has noticed", async () => {
  const { anew, store, elsewhere, lose } = losableStore();
  let isTold = false;
  const unwatch = store.watch(LOG, () => isTold = true);
  for (let number = 0; number < 9; number++) await append(store, LOG, [messageOf(number)]);
  lose();
  await append(store, logOf(onSameShard(LOG.name)), [messageOf("found out")]);
  isTold = false;
  // It is the first of its incarnation, where the one before had nine.
  await append(elsewhere, LOG, [messageOf("first")]);
  // The store polls again and again.
  const { get } = anew;
  const looked = Promise.withResolvers<void>();
  let looks = 0;
  anew.get = (keys) => {
    if (++looks === 3) looked.resolve();
    return get(keys);
  };
  await looked.promise;
  assert(isTold);
  unwatch();
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("A watcher is notified, also if the store went away after a change of another log of the same shard", async () => {
  const kv = await Deno.openKv(":memory:");
  const engine: KvEngine = { ...toEngine(kv), close: () => {} };
  let isAway = true;
  let looks = 0;
  const looked = Promise.withResolvers<void>();
  const get = async (keys: readonly KvKey[]) => {
    if (isAway) throw new Error("away");
    if (isPoll(keys) && ++looks === 4) looked.resolve();
    // When the bells have been looked at first, the head is looked at of the log that they do not
    // name.
    if (keys.length === 1 && looks === 1) throw new Error("away");
    return await engine.get(keys);
  };
  const options = { name: "memory", interval: 1, isLogged: false };
  const watching = new KvStore({ ...options, retryTimeout: 0, open: () => Promise.resolve({ ...engine, get }) });
  const elsewhere = new KvStore({ ...options, open: () => Promise.resolve(engine) });
  const others = logOf(onSameShard(LOG.name));
  let isTold = false;
  const unwatch = [watching.watch(LOG, () => isTold = true), watching.watch(others, () => {})];
  await append(elsewhere, LOG, [messageOf("first")]);
  await append(elsewhere, others, [messageOf("second")]);
  isAway = false;
  await looked.promise;
  assert(isTold);
  for (const end of unwatch) end();
  await Promise.all([watching.close(), elsewhere.close()]);
  kv.close();
});

Deno.test("A record that is written while somebody watches a log does not look like a database that was set back", async () => {
  const kv = await Deno.openKv(":memory:");
  const engine: KvEngine = { ...toEngine(kv), close: () => {} };
  let looks = -Infinity;
  const looked = Promise.withResolvers<void>();
  const get = (keys: readonly KvKey[]) => {
    if (isPoll(keys) && ++looks === 3) looked.resolve();
    return engine.get(keys);
  };
  const store = new KvStore({ name: "memory", interval: 1, open: () => Promise.resolve({ ...engine, get }) });
  const unwatch = store.watch(LOG, () => {});
  await append(store, LOG, [messageOf("first")]);
  const { incarnation } = await store.bounds(LOG);
  await (await store.openRecords()).set(["a"], "1", {});
  looks = 0;
  await looked.promise;
  assertEquals((await store.bounds(LOG)).incarnation, incarnation);
  unwatch();
  await store.close();
  kv.close();
});

Deno.test("A silent watch is abandoned, also if changes are rare", async () => {
  const kv = await Deno.openKv(":memory:");
  const engine: KvEngine = { ...toEngine(kv), close: () => {} };
  let looked = (): void => {};
  const get = (keys: readonly KvKey[]) => {
    if (isPoll(keys)) looked();
    return engine.get(keys);
  };
  const looks = (count: number) => new Promise<void>((resolve) => looked = () => --count === 0 && resolve());
  let watches = 0;
  const openWatching = () => {
    watches++;
    const closed = Promise.withResolvers<void>();
    const watch = async function* () {
      await closed.promise;
      yield* [];
    };
    return Promise.resolve({ ...engine, watch, close: closed.resolve });
  };
  const options = { name: "memory", interval: 1, isLogged: false };
  const store = new KvStore({ ...options, open: () => Promise.resolve({ ...engine, get }), openWatching });
  const elsewhere = new KvStore({ ...options, open: () => Promise.resolve(engine) });
  const unwatch = store.watch(LOG, () => {});
  for (let message = 0; message < 2; message++) {
    await append(elsewhere, LOG, [messageOf(message)]);
    await looks(5);
  }
  assertEquals(watches, 2);
  unwatch();
  await Promise.all([store.close(), elsewhere.close()]);
  kv.close();
});

Deno.test("Messages in logs that this node does not watch cost few reads, and watchers are still notified", async () => {
  await inVirtualTime(new Random(1), async () => {
    const database = new SimulatedDatabase(new Random(1));
    let readings = 0;
    const engineOf = (onRead: () => void): KvEngine => ({
      get: async (keys) => {
        if (keys[0]!.at(-1) === "head") onRead();
        const entries = database.get(keys);
        await new Promise((resolve) => setTimeout(resolve, 1));
        return entries;
      },
      list: (from, to, limit) => Promise.resolve(database.list(from, to, limit)),
      write: (write) => Promise.resolve(database.write(write)),
      watch: async function* () {},
      close: () => {},
    });
    const open = (onRead: () => void) => () => Promise.resolve(engineOf(onRead));
    const watching = new KvStore({ name: "simulated", interval: 50, open: open(() => readings++) });
    const elsewhere = new KvStore({ name: "simulated", interval: 50, open: open(() => {}) });
    const told = new Set<string>();
    const names = Array.from({ length: 2_000 }, (_, number) => `user ${number}`);
    const unwatch = names.map((name) => watching.watch(logOf(name), () => told.add(name)));
    for (let number = 0; number < 1_000; number++) {
      await append(elsewhere, logOf(`other ${number % 100}`), [messageOf(number)]);
      if (number % 10 === 0) await append(elsewhere, logOf(`user ${number}`), [messageOf(number)]);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    assertEquals(told.size, 100);
    // Each search reads the heads of 222 logs, ten at once. It is done a fifth of the time at most,
    // of some 12 seconds.
    assert(readings < 3_000, `${readings} readings`);
    for (const end of unwatch) end();
    await Promise.all([watching.close(), elsewhere.close()]);
  });
});

/** A store whose reads share requests watches 300 logs, of which every n-th has changed meanwhile. */
async function watchChanged(n: number): Promise<{ called: number; changed: number; heads: number }> {
  const kv = await Deno.openKv(":memory:");
  const engine = { ...toEngine(kv), close: () => {} };
  let isAway = true;
  let heads = 0;
  const read = (ranges: readonly KvRange[]): Promise<KvEntry[][]> => {
    if (isAway) return Promise.reject(new Error("away"));
    return Promise.all(ranges.map(async (range) => {
      if (!("key" in range)) return await engine.list(range.from, range.to, range.limit);
      if (range.key.at(-1) === "head") heads++;
      return (await engine.get([range.key])).filter((entry) => entry !== undefined);
    }));
  };
  const options = { name: "memory", interval: 1, isLogged: false };
  const watching = new KvStore({ ...options, isRemote: true, open: () => Promise.resolve({ ...engine, read }) });
  const elsewhere = new KvStore({ ...options, open: () => Promise.resolve(engine) });
  const names = Array.from({ length: 300 }, (_, number) => `user ${number}`);
  const called = new Set<string>();
  const unwatch = names.map((name) => watching.watch(logOf(name), () => called.add(name)));
  const changed = names.filter((_, number) => number % n === 0);
  for (const name of changed) await append(elsewhere, logOf(name), [messageOf(name)]);
  isAway = false;
  await until("their watchers are called", () => changed.every((name) => called.has(name)));
  for (const end of unwatch) end();
  await Promise.all([watching.close(), elsewhere.close()]);
  kv.close();
  return { called: called.size, changed: changed.length, heads };
}

Deno.test("Where reads share requests, a burst calls all watchers after few heads were read", async () => {
  const { heads } = await watchChanged(1);
  // Ten of each shard.
  assert(heads <= 90, `${heads} heads`);
});

Deno.test("Where reads share requests, changes of a few logs call their watchers alone", async () => {
  const { called, changed } = await watchChanged(60);
  assertEquals(called, changed);
});

Deno.test("A comparison of heads that took long, because the database was away, does not delay watchers for long", async () => {
  await inVirtualTime(new Random(1), async () => {
    const database = new SimulatedDatabase(new Random(1));
    let isAway = false;
    const engineOf = (isMeddled: boolean): KvEngine => ({
      get: async (keys) => {
        while (isMeddled && isAway && keys[0]!.at(-1) === "head") {
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        return database.get(keys);
      },
      list: (from, to, limit) => Promise.resolve(database.list(from, to, limit)),
      write: (write) => Promise.resolve(database.write(write)),
      watch: async function* () {},
      close: () => {},
    });
    const options = { name: "simulated", interval: 50, isLogged: false };
    const watching = new KvStore({ ...options, open: () => Promise.resolve(engineOf(true)) });
    const elsewhere = new KvStore({ ...options, open: () => Promise.resolve(engineOf(false)) });
    const other = logOf(onSameShard(LOG.name));
    let told = 0;
    const unwatch = [watching.watch(LOG, () => told = Date.now()), watching.watch(other, () => {})];
    isAway = true;
    await append(elsewhere, other, [messageOf("begins a comparison")]);
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    isAway = false;
    await new Promise((resolve) => setTimeout(resolve, 600));
    await append(elsewhere, LOG, [messageOf("not named")]);
    await append(elsewhere, other, [messageOf("named")]);
    const begin = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    assert(told >= begin && told - begin < 2_000, `it took ${told - begin} ms`);
    for (const end of unwatch) end();
    await Promise.all([watching.close(), elsewhere.close()]);
  });
});

Deno.test("A store that is away is closed at once, also while it is polled for the first time", async () => {
  const looked = Promise.withResolvers<void>();
  const away = (keys: readonly KvKey[]) => {
    if (isPoll(keys)) looked.resolve();
    return Promise.reject(new Error("away"));
  };
  const engine = { get: away, close: () => {} } as Partial<KvEngine> as KvEngine;
  const store = new KvStore({ name: "away", interval: 1, isLogged: false, open: () => Promise.resolve(engine) });
  store.watch(LOG, () => {});
  await looked.promise;
  // It is asked again for 30 s, unless it is closed before.
  const reading = assertRejects(() => store.bounds(LOG), Error, "it is closed");
  await store.close();
  await reading;
});

function onSameShard(name: string): string {
  for (let number = 0;; number++) if (shardOf(`log ${number}`) === shardOf(name)) return `log ${number}`;
}
