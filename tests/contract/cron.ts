// Crons of nodes that share a store: section 3 of the contract of work. Time passes faster for them,
// so that a minute is some seconds.

import { stopReason } from "../../src/base/service.ts";
import { assert, assertEquals } from "@std/assert";
import type { SharedClock } from "../../src/base/clock.ts";
import { Crons } from "../../src/work/cron/crons.ts";
import type { CronHandler } from "../../src/work/cron/options.ts";
import { Records } from "../../src/store/records.ts";
import type { RecordStore } from "../../src/store/record_store.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import type { Relay } from "../support/relay.ts";
import type { StoreKind } from "./store_fixture.ts";

/** How much faster time passes. A lease is 1.5 s. */
const SPEED = 20;
const MINUTE = 60_000;

/** A clock of nodes that share a store. It begins shortly before a minute. */
export function quickClock(): SharedClock {
  const [begin, now] = [Date.UTC(2026, 0, 1, 0, 0, 58), performance.now()];
  const elapsed = () => (performance.now() - now) * SPEED;
  const time = () => begin + elapsed();
  return {
    time,
    now: elapsed,
    wall: time,
    after(ms, action) {
      const timer = setTimeout(action, ms / SPEED);
      return () => clearTimeout(timer);
    },
  };
}

/** A node whose process can be frozen. */
export class CronNode {
  readonly #crons: Crons<Record<string, unknown>>;
  #frozen: PromiseWithResolvers<void> | undefined;

  /** A node with the cron "job" of each minute, which has not started. */
  constructor(store: RecordStore, clock: SharedClock, handler: CronHandler<Record<string, unknown>>) {
    const seen = new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return async (...args: unknown[]) => {
          await this.#frozen?.promise;
          const result = await method.apply(target, args);
          await this.#frozen?.promise;
          return result;
        };
      },
    });
    const watches = { isEnding: () => false, open: new Set<{ close(): void }>() };
    this.#crons = new Crons({
      topics: {
        records: new Records({ open: () => Promise.resolve(seen), watches }, "app"),
        recordsTime: 0,
        needRecords: () => {},
      },
      startApp: () => Promise.resolve(),
      clock: {
        ...clock,
        after: (ms, action) => clock.after(ms, () => void (this.#frozen?.promise ?? Promise.resolve()).then(action)),
      },
    });
    this.#crons.declare("job", "* * * * *", handler);
  }

  async start(): Promise<void> {
    await this.#crons.check();
    await this.#crons.start({ app: null as never, state: {} });
  }

  /** Lets nothing of it go on, as if its process were suspended. */
  freeze(): void {
    this.#frozen = Promise.withResolvers();
  }

  thaw(): void {
    this.#frozen?.resolve();
    this.#frozen = undefined;
  }

  async report() {
    return (await this.#crons.report())[0]!;
  }

  async stop(): Promise<void> {
    this.thaw();
    this.#crons.abort(stopReason());
    await this.#crons.close();
  }
}

/** Registers the tests of crons over a kind of store. */
export function testCron(kind: StoreKind): void {
  function test(title: string, body: (one: RecordStore, other: RecordStore) => Promise<void>): void {
    Deno.test(`Crons over ${kind.name}: ${title}`, async () => {
      using _log = new CapturedLog();
      await using fixture = await kind.prepare(Date.now);
      const stores = [fixture.open(), fixture.open()];
      const [one, other] = await Promise.all(stores.map((store) => store.openRecords!()));
      await body(one!, other!);
    });
  }

  test("`each time runs on one node of all that share the store`", async (one, other) => {
    const clock = quickClock();
    const runs: [node: number, time: number][] = [];
    const enough = Promise.withResolvers<void>();
    const nodes = [one, other].map((store, node) =>
      new CronNode(store, clock, ({ scheduled }) => {
        runs.push([node, scheduled.getTime()]);
        if (runs.length === 3) enough.resolve();
      })
    );
    await Promise.all(nodes.map((node) => node.start()));
    await enough.promise;
    // On a busy machine, a stop in quick time could come before the write of the last outcome.
    while ((await nodes[0]!.report()).runs < 3);
    await Promise.all(nodes.map((node) => node.stop()));
    const times = runs.map(([, time]) => time);
    assertEquals(times, [0, 1, 2].map((minute) => times[0]! + minute * MINUTE));
    const { last, runs: count, failures } = await nodes[0]!.report();
    assertEquals([last?.scheduled.getTime(), count, failures], [times[2], 3, 0]);
  });

  test("a run is `taken over within the lease where that node dies`", async (one, other) => {
    const clock = quickClock();
    const begun = Promise.withResolvers<{ scheduled: Date; signal: AbortSignal }>();
    const taken = Promise.withResolvers<Date>();
    const dying = new CronNode(one, clock, async ({ scheduled, signal }) => {
      const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      begun.resolve({ scheduled, signal });
      await aborted;
    });
    await dying.start();
    const { scheduled, signal } = await begun.promise;
    const living = new CronNode(other, clock, (run) => taken.resolve(run.scheduled));
    await living.start();
    assertEquals((await living.report()).running?.scheduled, scheduled);
    dying.freeze();
    // It may also run the next time, which is due soon.
    assert(await taken.promise >= scheduled);
    dying.thaw();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve());
    });
    await Promise.all([dying.stop(), living.stop()]);
    assert((await living.report()).runs > 0);
  });
}

/** A node that is cut off aborts its run before another one takes it. */
export async function cutOffRun(far: RecordStore, near: RecordStore, relay: Relay): Promise<void> {
  const clock = quickClock();
  const begun = Promise.withResolvers<AbortSignal>();
  const first = new CronNode(far, clock, async ({ signal }) => {
    const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    begun.resolve(signal);
    await aborted;
  });
  await first.start();
  const signal = await begun.promise;
  const taken = Promise.withResolvers<boolean>();
  const other = new CronNode(near, clock, () => taken.resolve(signal.aborted));
  await other.start();
  assertEquals(signal.aborted, false);
  relay.set("lossy");
  assert(await taken.promise, "Two nodes run at the same time");
  relay.set("whole");
  await Promise.all([first.stop(), other.stop()]);
}
