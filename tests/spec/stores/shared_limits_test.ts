// Section 4 of the contract of stores: "`rateLimit: { …, store: "records" }` and `new App({
// rateLimitStore: "records" })`: one count for all nodes in the store, at most one write for each
// request, by windows that are counted in the process and settled every 200 ms where `limit` is above
// 100 (the bound is then exact within 200 ms of traffic); a store that does not answer lets requests
// through and is logged. Sign-in limits are exact."

import { assert, assertEquals, assertMatch } from "@std/assert";
import { App } from "@webfw/core";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import type { RecordStore } from "../../../src/store/record_store.ts";
import { Gate } from "../../contract/gate.ts";
import { until } from "../../support/wait.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { LongDeadline } from "../support/long_deadline.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { ticks } from "../support/ticks.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

/** The store of a limit has to answer within this time. */
const ANSWER_MS = 500;

/** A store that several applications share, which counts the accesses to its records. */
class CountedStore extends MemoryStore {
  readonly now = (): number => Date.now();
  reads = 0;
  writes = 0;
  /** Each write waits for it. */
  gate: Gate | undefined;
  /** Rejects when the store is no longer silent. */
  #silence: PromiseWithResolvers<never> | undefined;

  silence(): void {
    this.#silence = Promise.withResolvers();
    this.#silence.promise.catch(() => {});
  }

  speak(): void {
    this.#silence?.reject(new Error("The store did not answer"));
    this.#silence = undefined;
  }

  override async openRecords(): Promise<RecordStore> {
    const records = await super.openRecords();
    const answer = <Result>(result: Promise<Result>) => this.#silence?.promise ?? result;
    return {
      get: (key) => (this.reads++, answer(records.get(key))),
      set: (key, value, options) => {
        this.writes++;
        const set = () => records.set(key, value, options);
        return answer(this.gate ? this.gate.pass().then(set) : set());
      },
      delete: (key, options) => answer(records.delete(key, options)),
      list: (prefix) => records.list(prefix),
    };
  }

  /** The application that stops first does not close it. */
  override async close(): Promise<void> {}

  async end(): Promise<void> {
    await super.close();
  }
}

function limited(topics: MemoryStore | string, limit: number): App {
  const app = new App({ topics, rateLimitStore: "records" });
  app.get("/", { rateLimit: { limit, per: "1h", by: () => "all" } }, async () => "fine");
  return app;
}

interface Passed {
  readonly passed: number;
  /** How many more requests are allowed, as the last reply said. */
  readonly rest: number;
}

/** Sends requests, so many at the same time. */
async function send(apps: readonly App[], requests: number, parallel = 20): Promise<Passed> {
  let [sent, passed, rest] = [0, 0, Infinity];
  const work = async () => {
    while (sent < requests) {
      const reply = await apps[sent++ % apps.length]!.fetch(new Request("http://localhost/"));
      await reply.body?.cancel();
      if (reply.status === 200) passed++;
      else assertEquals(reply.status, 429);
      rest = Number(/r=(\d+)/.exec(reply.headers.get("ratelimit") ?? "")?.[1] ?? Infinity);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return { passed, rest };
}

/** Waits until a node knows of so many requests, without a request that counts for the limit. */
async function settled(store: CountedStore): Promise<void> {
  for (let writes = -1; writes < store.writes;) {
    writes = store.writes;
    // Twice the time between two writes.
    await new Promise((resolve) => setTimeout(resolve, 450));
  }
}

function test(title: string, body: (store: CountedStore, log: CapturedLog) => Promise<void>): void {
  Deno.test(title, async () => {
    using log = new CapturedLog();
    const store = new CountedStore();
    await body(store, log);
    await store.end();
  });
}

test("`sign-in limits are exact`: up to 100, two nodes count together, with `at most one write for each request`", async (store) => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const nodes = [limited(store, 100), limited(store, 100)];
  // In sequence, so that no two of them are written together.
  assertEquals((await send(nodes, 150, 1)).passed, 100);
  assertEquals([store.writes, store.reads <= 150], [100, true]);
  for (const node of nodes) await node.stop();
});

test("a limit above 100 is counted in the process, and settled: few requests wait for the store", async (store) => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const [one, two] = [limited(store, 500), limited(store, 500)];
  const first = await send([one], 300);
  assertEquals(first, { passed: 300, rest: 200 });
  assert(store.writes <= 60 && store.reads <= 60, `${store.writes} writes, ${store.reads} reads`);
  await settled(store);
  // What one node has settled, the other one counts.
  assertEquals(await send([two], 300), { passed: 200, rest: 0 });
  await settled(store);
  const { reads, writes } = store;
  assertEquals((await send([one, two], 100)).passed, 0);
  // A count that is full is known: floods do not reach the store.
  assert(store.writes - writes === 0 && store.reads - reads <= 2, `${store.writes - writes} ${store.reads - reads}`);
  for (const node of [one, two]) await node.stop();
});

test("two nodes under load pass `limit` requests, and at most those of 200 ms more", async (store) => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const nodes = [limited(store, 1_000), limited(store, 1_000)];
  let [sent, passed] = [0, 0];
  const times: number[] = [];
  // A load that takes longer than the time between two writes.
  for (const begin = performance.now(); sent < 3_000 || performance.now() - begin < 2_000;) {
    const round = await send(nodes, 40, 8);
    sent += 40;
    passed += round.passed;
    for (let count = 0; count < 40; count++) times.push(performance.now());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const most = Math.max(...times.map((time) => times.filter((other) => other >= time && other < time + 600).length));
  assert(passed >= 1_000 && passed <= 1_000 + most, `${passed} passed, ${most} in a time`);
  assert(store.writes <= passed, `${store.writes} writes`);
  for (const node of nodes) await node.stop();
});

test("a stop settles what was counted, and the count begins again after its time", async (store) => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const before = limited(store, 150);
  assertEquals((await send([before], 150)).passed, 150);
  await before.stop();
  const after = limited(store, 150);
  assertEquals((await send([after], 10)).passed, 0);
  // It can be started again.
  assertEquals((await send([before], 10)).passed, 0);
  using clock = new MovedClock();
  clock.advance(3_601_000);
  assertEquals((await send([after], 10, 1)).passed, 10);
  for (const node of [before, after]) await node.stop();
});

test("a stop settles what was counted while earlier counts were written", async (store) => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const before = limited(store, 150);
  const gate = store.gate = new Gate();
  assertEquals((await send([before], 1)).passed, 1);
  await until("the first count is written", () => store.writes > 0);
  assertEquals((await send([before], 99)).passed, 99);
  const stopped = before.stop();
  await ticks(50);
  gate.open();
  await stopped;
  const after = limited(store, 150);
  assertEquals((await send([after], 150)).passed, 50);
  await after.stop();
});

for (const limit of [50, 500]) {
  test(
    `a store that does not answer lets requests through and is logged, with a limit of ${limit}`,
    async (store, log) => {
      const app = limited(store, limit);
      assertEquals((await send([app], 10)).passed, 10);
      store.silence();
      await until("the store is known to be silent", async () => {
        await send([app], 1);
        return log.text.includes("A rate limit allows all requests: its store fails");
      });
      assertEquals((await send([app], 600)).passed, 600);
      store.speak();
      // Those that passed meanwhile are not counted.
      await until("the store is used again", async () => (await send([app], 1)).rest < Infinity);
      await app.stop();
      assertMatch(log.text, /did not answer within 500 ms/);
    },
  );
}

Deno.test("two nodes that share a file settle their counts", async () => {
  using _deadline = new LongDeadline(ANSWER_MS);
  await using folder = await TemporaryFolder.make();
  const file = folder.within("records.sqlite");
  const [one, two] = [limited(file, 200), limited(file, 200)];
  assertEquals((await send([one], 150)).passed, 150);
  await until("the other node knows of them", async () => (await send([two], 1, 1)).rest < 100);
  await until("the limit is reached for both", async () => {
    return (await send([one], 1)).passed + (await send([two], 1)).passed === 0;
  });
  for (const node of [one, two]) await node.stop();
});
