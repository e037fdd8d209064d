// "`records.watch(prefix)`: what changes below a prefix, expiries included: presence is 10 lines, and the guide has
// them." What each store does is tested by `tests/contract/record_store.ts`.

import { assertEquals, assertRejects } from "@std/assert";
import { App, type Records } from "@webfw/core";
import type { RecordStore, TopicStore } from "@webfw/core/store";
import type { RecordChange } from "@webfw/core/types";
import * as v from "valibot";
import { inVirtualTime } from "../../../dev/faults/simulation/virtual_time.ts";
import { Random } from "../../unit/support/random.ts";
import { Serving } from "../support/serving.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

async function inMemory(body: (records: Records, app: App) => Promise<void>): Promise<void> {
  const app = new App();
  await body(app.records, app);
  await app.stop();
}

function shown({ value }: IteratorResult<RecordChange, void>): unknown {
  return value && [value.key.join("/"), value.record?.value ?? null];
}

Deno.test("it yields what is there, and then what is set and deleted, the prefix itself included", () =>
  inMemory(async (records) => {
    await records.set(["on", "a"], 1);
    await records.set(["other"], 1);
    const seen: unknown[] = [];
    for await (const change of records.watch<number>(["on"])) {
      seen.push(shown({ value: change }));
      if (seen.length === 1) await records.set(["on"], 2);
      else if (seen.length === 2) setTimeout(() => records.set(["on", "a"], 3), 0);
      else if (seen.length === 3) setTimeout(() => records.delete(["on", "a"]), 0);
      else break;
    }
    assertEquals(seen, [["on/a", 1], ["on", 2], ["on/a", 3], ["on/a", null]]);
    assertEquals(await records.watch([]).next().then(({ done }) => done), false, "an empty prefix is all records");
  }));

Deno.test("a change of the same process is seen at once, and an expiry within a second", async () => {
  // It is loaded before time is counted.
  await new App().records.get(["a"]);
  await inVirtualTime(new Random(1), async () => {
    const { records } = new App();
    await using watch = records.watch<number>(["a"]);
    const begin = Date.now();
    const first = watch.next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await records.set(["a", "b"], 1, { expiresIn: "5s" });
    assertEquals([shown(await first), Date.now() - begin], [["a/b", 1], 100]);
    assertEquals(shown(await watch.next()), ["a/b", null]);
    const took = Date.now() - begin;
    assertEquals(took >= 5_100 && took <= 6_100, true, `${took} ms`);
  });
});

Deno.test("a slow reader gets each record as it is then, and none that came and went", () =>
  inMemory(async (records) => {
    await using slow = records.watch(["a"]);
    await records.set(["a", "1"], 1);
    assertEquals(shown(await slow.next()), ["a/1", 1]);
    for (let value = 2; value < 100; value++) {
      await records.set(["a", "1"], value);
      await records.set(["a", `gone ${value}`], value);
      await records.delete(["a", `gone ${value}`]);
    }
    // Another reader of the prefix makes the store be read meanwhile.
    await using quick = records.watch(["a"]);
    assertEquals(shown(await quick.next()), ["a/1", 99]);
    assertEquals(shown(await slow.next()), ["a/1", 99]);
    await records.delete(["a", "1"]);
    assertEquals([shown(await slow.next()), shown(await quick.next())], [["a/1", null], ["a/1", null]]);
  }));

Deno.test("setting an equal value, such as to renew its expiry, is no change", () =>
  inMemory(async (records) => {
    await using watch = records.watch(["a"]);
    await records.set(["a"], { name: "Ada" });
    assertEquals(shown(await watch.next()), ["a", { name: "Ada" }]);
    const next = watch.next();
    await records.set(["a"], { name: "Ada" }, { expiresIn: "1h" });
    await records.set(["a", "b"], 1);
    assertEquals(shown(await next), ["a/b", 1]);
  }));

Deno.test("it ends by its signal, by `return()`, by `await using`, and when the application stops", async () => {
  const app = new App();
  await app.records.set(["a"], 1);
  const stop = new AbortController();
  const ends = [
    { watch: app.records.watch(["a"], { signal: stop.signal }), end: () => stop.abort() },
    { watch: app.records.watch(["a"]), end: async (watch: AsyncIterator<unknown>) => void await watch.return!() },
    { watch: app.records.watch(["a"]), end: async (watch: AsyncDisposable) => await watch[Symbol.asyncDispose]() },
    { watch: app.records.watch(["a"]), end: () => app.stop() },
  ];
  const ended = { done: true, value: undefined } as const;
  for (const { watch, end } of ends) {
    assertEquals(shown(await watch.next()), ["a", 1]);
    const next = watch.next();
    await end(watch);
    assertEquals([await next, await watch.next()], [ended, ended]);
  }
  assertEquals(await app.records.watch(["a"], { signal: stop.signal }).next(), ended);
});

Deno.test("all watches of a prefix share its reads, which need no watch of the store", async () => {
  const state = new Map([["a", "1"]]);
  let lists = 0;
  const store: Partial<RecordStore> = {
    async *list() {
      lists++;
      for (const [name, value] of state) yield { key: ["app", name], value, version: `${lists}` };
    },
  };
  const topics = { append: () => {}, close: () => Promise.resolve(), openRecords: () => Promise.resolve(store) };
  const app = new App({ topics: topics as unknown as TopicStore });
  const watches = Array.from({ length: 50 }, () => app.records.watch([]));
  assertEquals(new Set((await Promise.all(watches.map((watch) => watch.next()))).map(shown).map(String)).size, 1);
  const read = lists;
  assertEquals(read <= 2, true, `${read} reads`);
  const next = watches.map((watch) => watch.next());
  state.set("a", "2");
  assertEquals((await Promise.all(next)).map(shown), Array(50).fill(["a", 2]));
  assertEquals(lists - read <= 2, true, `${lists - read} more reads`);
  await app.stop();
});

Deno.test("a store that fails ends the watch with its error", async () => {
  let failure: Error | undefined;
  const store: Partial<RecordStore> = {
    async *list() {
      if (failure) throw failure;
      yield { key: ["app", "a"], value: "1", version: "1" };
    },
  };
  const topics = { append: () => {}, close: () => Promise.resolve(), openRecords: () => Promise.resolve(store) };
  const app = new App({ topics: topics as unknown as TopicStore });
  const watch = app.records.watch(["a"]);
  await watch.next();
  failure = new Error("The store is away");
  await assertRejects(() => watch.next(), Error, "The store is away");
  assertEquals(await watch.next(), { done: true, value: undefined });
  failure = undefined;
  assertEquals(shown(await app.records.watch(["a"]).next()), ["a", 1]);
  await app.stop();
});

function presence(topics: string): App {
  const app = new App({ topics });
  const query = { name: v.string() };
  app.websocket("/boards/{board}/online", { query, send: v.array(v.string()) }, async (socket, { board, name }) => {
    const { records } = socket.request.app;
    const key = ["online", board, crypto.randomUUID()];
    await records.set(key, name, { expiresIn: "30s" });
    try {
      const online = new Map<string, string>();
      for await (const { key: [, , id], record } of records.watch<string>(key.slice(0, 2), { signal: socket.signal })) {
        if (record) online.set(id!, record.value);
        else online.delete(id!);
        await socket.send([...online.values()].sort());
      }
    } finally {
      await records.delete(key);
    }
  });
  return app;
}

Deno.test("presence on two nodes that share a file: who comes and goes is seen on both", async () => {
  await using folder = await TemporaryFolder.make();
  const nodes = [presence(folder.within("a.sqlite")), presence(folder.within("a.sqlite"))];
  await using one = await Serving.start(nodes[0]!);
  await using other = await Serving.start(nodes[1]!);
  const connect = async ({ origin }: Serving, name: string) => {
    const socket = new WebSocket(`${origin}/boards/7/online?name=${name}`);
    const lists: string[] = [];
    let wake = () => {};
    socket.onmessage = ({ data }) => {
      lists.push(data);
      wake();
    };
    const closed = new Promise((resolve) => socket.onclose = resolve);
    return {
      async has(list: string) {
        while (lists.at(-1) !== list) await new Promise<void>((resolve) => wake = resolve);
      },
      async close() {
        socket.close();
        await closed;
      },
    };
  };
  const ada = await connect(one, "Ada");
  await ada.has('["Ada"]');
  const bob = await connect(other, "Bob");
  await Promise.all([ada.has('["Ada","Bob"]'), bob.has('["Ada","Bob"]')]);
  await ada.close();
  await bob.has('["Bob"]');
  await bob.close();
});
