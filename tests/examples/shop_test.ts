/** The shop whose nodes share a store: the replies to clients while the store is away. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { countSales } from "../../examples/orders/sales.ts";
import { TakenOrder } from "../../examples/orders/models.ts";
import { shop } from "../../examples/orders/shop.ts";
import { state } from "../../examples/orders/state.ts";
import { MemoryStore } from "../../src/store/memory/memory_store.ts";
import { FaultyStore } from "../contract/faulty_store.ts";
import { Gate } from "../contract/gate.ts";
import { BeforeMinute } from "../spec/support/before_minute.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ticks } from "../spec/support/ticks.ts";

const MAYBE_TAKEN = "The order may be taken or not: send it again";
const NOT_TAKEN = "The order is not taken: send it again";

/** A node of the shop, and the store that it uses. */
class Shop implements AsyncDisposable {
  readonly store = new FaultyStore(new MemoryStore());
  readonly #client: TestClient;
  readonly #log = new CapturedLog();

  constructor() {
    const app = new App({ topics: this.store, state });
    const topic = app.topic("orders", { schema: TakenOrder, durable: true });
    app.lifespan(async function* () {
      yield { node: "one", nodes: [], topic, script: new Blob() };
    });
    countSales(app);
    app.include(shop);
    this.#client = new TestClient(app);
  }

  /** The log of the node. */
  get log(): string {
    return this.#log.text;
  }

  /** Orders something. */
  async order(id: string): Promise<{ status: number; detail?: string; duplicate?: boolean }> {
    const response = await this.#client.post("/orders", { json: { id, item: "Tea", quantity: 1 } });
    const { detail, duplicate } = await response.json();
    return { status: response.status, ...detail && { detail }, ...duplicate !== undefined && { duplicate } };
  }

  /** Orders something without an id. */
  async buy(key: string, quantity: number): Promise<{ status: number; place?: string; isReplayed: boolean }> {
    const headers = { "idempotency-key": key };
    const response = await this.#client.post("/purchases", { json: { item: "Tea", quantity }, headers });
    const { place } = await response.json();
    const isReplayed = response.headers.has("idempotency-replayed");
    return { status: response.status, ...place !== undefined && { place }, isReplayed };
  }

  /** What was sold, once it was counted. */
  async sales(): Promise<{ orders: number; pieces: number }> {
    for (;;) {
      const sales = await this.#client.get("/sales").json<{ orders: number; pieces: number } | null>();
      if (sales) return { orders: sales.orders, pieces: sales.pieces };
      await ticks(1);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
    this.#log[Symbol.dispose]();
  }
}

/** Replaces time: signals are aborted, and 30 seconds pass, when the test says so. */
class Time implements Disposable {
  readonly #controllers: AbortController[] = [];
  readonly #timeout = AbortSignal.timeout;
  readonly #now = performance.now;

  constructor() {
    AbortSignal.timeout = () => {
      const controller = new AbortController();
      this.#controllers.push(controller);
      return controller.signal;
    };
  }

  /** Waits until this many have begun to wait for the store. */
  async begun(count: number): Promise<void> {
    while (this.#controllers.length < count) await ticks(1);
  }

  /** All signals are over their time. */
  abortSignals(): void {
    for (const controller of this.#controllers) {
      controller.abort(new DOMException("Signal timed out.", "TimeoutError"));
    }
  }

  /** A little more than 30 seconds pass. */
  pass(): void {
    performance.now = () => this.#now.call(performance) + 30_001;
  }

  [Symbol.dispose](): void {
    AbortSignal.timeout = this.#timeout;
    performance.now = this.#now;
  }
}

Deno.test("a client must repeat an order that the store does not take in time, whether it was sent to the store or not", async () => {
  using time = new Time();
  await using node = new Shop();
  const gate = new Gate();
  const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
  node.store.faults = { beforeAppend: gate.pass };
  const sent = node.order(first);
  await gate.reached;
  const waiting = node.order(second);
  await time.begun(2);
  time.abortSignals();
  assertEquals(await Promise.all([sent, waiting]), [
    { status: 503, detail: MAYBE_TAKEN },
    { status: 503, detail: NOT_TAKEN },
  ]);
  node.store.faults = {};
  gate.open();
  assertEquals(await node.order(first), { status: 201, duplicate: true });
  assertEquals(await node.order(second), { status: 201, duplicate: false });
});

Deno.test("a client must repeat an order that waits behind others while the store takes none", async () => {
  using time = new Time();
  await using node = new Shop();
  const gate = new Gate();
  node.store.faults = {
    beforeAppend: async () => {
      await gate.pass();
      throw new Error("The store is away");
    },
  };
  const sent = node.order(crypto.randomUUID());
  await gate.reached;
  const waiting = node.order(crypto.randomUUID());
  await time.begun(2);
  time.pass();
  gate.open();
  assertEquals(await Promise.all([sent, waiting]), [
    { status: 503, detail: MAYBE_TAKEN },
    { status: 503, detail: NOT_TAKEN },
  ]);
  assertStringIncludes(node.log, "The store is away");
});

Deno.test("an order is taken once", async () => {
  await using node = new Shop();
  const id = crypto.randomUUID();
  assertEquals(await node.order(id), { status: 201, duplicate: false });
  assertEquals(await node.order(id), { status: 201, duplicate: true });
});

Deno.test("a purchase that is sent again with its key is taken once, and gets the same receipt", async () => {
  await using node = new Shop();
  const first = await node.buy("a", 2);
  assertEquals([first.status, first.isReplayed], [201, false]);
  assertEquals(await node.buy("a", 2), { ...first, isReplayed: true });
  assertEquals((await node.buy("a", 3)).status, 422);
  assertEquals((await node.buy("b", 2)).status, 201);
});

Deno.test("each minute, a node counts what was ordered", async () => {
  using clock = new BeforeMinute();
  await using node = new Shop();
  await node.order(crypto.randomUUID());
  await node.buy("a", 5);
  clock.go();
  assertEquals(await node.sales(), { orders: 2, pieces: 6 });
});
