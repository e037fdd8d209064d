// Section 3 of the contract of stores: "`--redrive` publishes dead letters back to the consumer they
// came from, once each". An operator is killed at each of its writes.

import { assert, assertEquals } from "@std/assert";
import { App, type DeadLetter } from "@webfw/core";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import type { RecordStore } from "../../../src/store/record_store.ts";
import type { TopicStore } from "../../../src/store/topic_store.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";

const DURABLE = { durable: true } as const;
const FAILED = "orders.failed";

/** The store as an operator sees it, whose connection breaks at a write of records. */
class BreakingStore {
  /** How many writes are left; the one at which it breaks is carried out or not. */
  left = Infinity;
  isCarriedOut = false;
  readonly store: TopicStore;

  constructor(store: TopicStore) {
    const records = store.openRecords!().then((records): RecordStore =>
      proxyOf(records, {
        set: async (...args: Parameters<RecordStore["set"]>) => {
          const isLast = this.left-- === 0;
          if (this.left < -1 || (isLast && !this.isCarriedOut)) throw new Error("killed");
          const version = await records.set(...args);
          if (isLast) throw new Error("killed");
          return version;
        },
      })
    );
    this.store = proxyOf(store, { openRecords: () => records, close: async () => {} });
  }
}

function proxyOf<Target extends object>(target: Target, own: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(own, name) ?? Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function appOf(topics: TopicStore, handle: (n: number) => void): App {
  const app = new App({ topics });
  app.topic<DeadLetter>(FAILED, DURABLE);
  const options = { deadLetter: FAILED, retry: { attempts: 1 }, from: "earliest", concurrency: 64 } as const;
  app.topic<number>("orders", DURABLE).consume("mail", options, ({ data }) => handle(data));
  return app;
}

/** Redelivers 600 letters, is killed at a write, and then again without that. */
async function handledAfterKill(
  write: number,
  isCarriedOut: boolean,
): Promise<{ mailed: number[]; wasKilled: boolean }> {
  const store = new MemoryStore();
  const mailed: number[] = [];
  let isBroken = true;
  const node = appOf(store, (n) => {
    if (isBroken) throw new Error("no");
    mailed.push(n);
  });
  await node.start();
  const orders = node.topic<number>("orders");
  await Promise.all(Array.from({ length: 600 }, (_, n) => orders.publish(n)));
  await node.consumers.idle();
  isBroken = false;
  const breaking = new BreakingStore(store);
  const operator = appOf(breaking.store, () => {});
  Object.assign(breaking, { left: write, isCarriedOut });
  const wasKilled = await operator.consumers.redrive("orders/mail").then(() => false, () => true);
  await node.consumers.redrive("orders/mail");
  await node.consumers.idle();
  await operator.stop();
  await node.stop();
  return { mailed, wasKilled };
}

for (const isCarriedOut of [false, true]) {
  Deno.test(`each letter is redelivered once if the operator is killed ${isCarriedOut ? "after" : "before"} any write`, async () => {
    using _log = new CapturedLog();
    const killed: boolean[] = [];
    for (let write = 0; write < 6; write++) {
      const { mailed, wasKilled } = await handledAfterKill(write, isCarriedOut);
      assertEquals(mailed.toSorted((one, other) => one - other), Array.from({ length: 600 }, (_, n) => n), `${write}`);
      killed.push(wasKilled);
    }
    // Three pages, the record, and the announcement, which may fail.
    assertEquals(killed, [true, true, true, true, false, false]);
    assert(killed.length > 0);
  });
}
