/** What batches of consumers mean, for each store of topics. */
import { assert, assertEquals } from "@std/assert";
import { App, type AppOptions, type DeadLetter, Discard } from "@webfw/core";
import type { BatchHandler, BatchOptions, ConsumeOptions } from "@webfw/core/types";
import * as v from "valibot";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import type { WithStore } from "./paused_consumers.ts";
import { until } from "../support/wait.ts";

type TopicsOption = NonNullable<AppOptions["topics"]>;

const DURABLE = { durable: true, retention: { bytes: 1e6 } } as const;

type Options = ConsumeOptions<number, BatchOptions> & { readonly batch: BatchOptions };

/** Nodes with a consumer "rows" of the topic "orders". */
class Nodes implements AsyncDisposable {
  readonly apps: App[] = [];
  /** What handlers got. */
  readonly batches: { readonly node: number; readonly attempt: number; readonly data: readonly number[] }[] = [];
  readonly letters: DeadLetter<number>[] = [];
  readonly #topics: TopicsOption;
  readonly #options: Options;

  constructor(topics: TopicsOption, options: Options) {
    this.#topics = topics;
    this.#options = options;
  }

  async start(handle: BatchHandler<number, object> = () => {}): Promise<App> {
    const app = new App({ topics: this.#topics });
    const node = this.apps.push(app);
    app.topic<number>("orders", DURABLE).consume(
      "rows",
      { from: "earliest", retry: { attempts: 3, backoff: "50ms" }, ...this.#options },
      (messages, context) => {
        this.batches.push({ node, attempt: context.attempt, data: messages.map(({ data }) => data) });
        return handle(messages, context);
      },
    );
    app.topic<DeadLetter<number>>("failed", DURABLE).consume("watch", ({ data }) => this.letters.push(data));
    await app.start();
    return app;
  }

  async publish(...data: number[]): Promise<void> {
    const orders = this.apps[0]!.topic<number>("orders");
    await Promise.all(data.map((one) => orders.publish(one)));
  }

  get data(): number[] {
    return this.batches.flatMap(({ data }) => data).toSorted((one, other) => one - other);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.apps.map((app) => app.stop()));
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

async function reportOf(app: App) {
  return (await app.consumers.report()).find(({ name }) => name === "rows")!;
}

export function testConsumerBatches(store: string, withStore: WithStore, ignore = false): void {
  const test = (title: string, body: (topics: TopicsOption, log: CapturedLog) => Promise<void>) =>
    Deno.test({
      name: `${store}: ${title}`,
      ignore,
      fn: async () => {
        using log = new CapturedLog();
        await withStore((topics) => body(topics, log));
      },
    });

  test("batches are `at most size`, each message is in one batch of one node, and reports are right", async (topics) => {
    await using nodes = new Nodes(topics, { batch: { size: 20, wait: "100ms" }, concurrency: 2 });
    const first = await nodes.start();
    const second = await nodes.start();
    await nodes.publish(...upTo(300));
    await first.consumers.idle();
    assertEquals(nodes.data, upTo(300));
    assert(nodes.batches.every(({ data, attempt }) => data.length <= 20 && attempt === 1));
    assert(nodes.batches.some(({ data }) => data.length === 20));
    const { topics: [orders] } = await second.reportTopics();
    assertEquals(orders!.consumers.map(({ lag, inFlight, failures, lost }) => [lag, inFlight, failures, lost]), [
      [0, 0, 0, 0],
    ]);
  });

  test("`return { failed: [ids] }` retries those; after the last attempt each is a dead letter", async (topics) => {
    await using nodes = new Nodes(topics, { batch: { size: 10, wait: "50ms" }, deadLetter: "failed" });
    const app = await nodes.start((messages, { attempt }) => {
      // 0 and 5 fail once, 3 always.
      const isFailed = (n: number) => n === 3 || (attempt === 1 && n % 5 === 0);
      return { failed: messages.filter(({ data }) => isFailed(data)).map(({ id }) => id) };
    });
    await nodes.publish(...upTo(10));
    await app.consumers.idle();
    const attempts = upTo(10).map((n) => nodes.batches.filter(({ data }) => data.includes(n)).length);
    assertEquals(attempts, [2, 1, 1, 3, 1, 2, 1, 1, 1, 1]);
    assertEquals(nodes.letters.map(({ data, attempts, error }) => [data, attempts, error]), [
      [3, 3, "The handler returned the message as failed"],
    ]);
  });

  test("`throw new Discard` is `for all`; without `deadLetter`, `retry` redelivers each", async (topics) => {
    await using nodes = new Nodes(topics, { batch: { size: 4, wait: "2s" } });
    let isBroken = true;
    const app = await nodes.start(() => {
      if (isBroken) throw new Discard("The table is gone");
    });
    await nodes.publish(1, 2, 3, 4);
    await app.consumers.idle();
    const { failures, lastError } = await reportOf(app);
    assertEquals([failures, lastError], [4, "The table is gone"]);
    isBroken = false;
    await app.consumers.retry("orders/rows");
    await app.consumers.idle();
    assertEquals(nodes.data, [1, 1, 2, 2, 3, 3, 4, 4]);
    assertEquals((await reportOf(app)).failures, 0);
  });

  test("with `key`, batches are `of one key`, and in its order, on two nodes", async (topics) => {
    const key = ({ data }: { readonly data: number }) => `${data % 3}`;
    await using nodes = new Nodes(topics, { batch: { size: 8, wait: "20ms" }, key, concurrency: 3 });
    const begun: number[] = [];
    const handle: BatchHandler<number, object> = async (messages) => {
      begun.push(...messages.map(({ data }) => data));
      await new Promise((resolve) => setTimeout(resolve, 5));
      // What fails holds up the later ones.
      if (messages[0]!.data % 7 === 0 && Math.random() < 0.5) throw new Error("again");
    };
    const first = await nodes.start(handle);
    await nodes.start(handle);
    for (const n of upTo(150)) await nodes.publish(n);
    await first.consumers.idle();
    for (const { data } of nodes.batches) {
      assertEquals(new Set(data.map((n) => n % 3)).size, 1);
      assertEquals(data, data.toSorted((one, other) => one - other));
    }
    for (const rest of upTo(3)) {
      const own = upTo(150).filter((n) => n % 3 === rest);
      const firsts = [...new Set(begun.filter((n) => n % 3 === rest))];
      assertEquals(firsts, own);
    }
  });

  test("a batch of a node that is killed comes to another node or the next start, not as an attempt", async (topics) => {
    const program = (lines: string) =>
      `import { App } from "${CORE}";
      const app = new App({ topics: ${JSON.stringify(topics)} });
      const orders = app.topic("orders", ${JSON.stringify(DURABLE)});
      orders.consume("rows", { from: "earliest", lease: "1s", batch: { size: 5, wait: "1m" } }, ${lines});
      await app.start();
      for (let n = 0; n < 5; n++) await orders.publish(n);
      setInterval(() => {}, 1000);`;
    {
      await using killed = await ChildProgram.start(program(`(messages) => {
        console.log("begun", messages.length);
        return new Promise(() => {});
      }`));
      await killed.printed("begun 5");
      killed.signal("SIGKILL");
      await killed.end();
    }
    await using nodes = new Nodes(topics, { batch: { size: 5, wait: "100ms" }, lease: "1s" });
    const app = await nodes.start();
    await until("all are handled", () => nodes.data.length === 5);
    assertEquals([nodes.data, new Set(nodes.batches.map(({ attempt }) => attempt))], [upTo(5), new Set([1])]);
    await app.consumers.idle();
  });

  test("messages that no longer fit the schema are parked, and not in a batch", async (topics) => {
    const Old = v.object({ id: v.number() });
    const New = v.object({ id: v.number(), color: v.string() });
    const writer = new App({ topics });
    const old = writer.topic("cards", { schema: Old, durable: true });
    await writer.start();
    for (const id of upTo(3)) await old.publish({ id });
    const app = new App({ topics });
    const cards = app.topic("cards", { schema: New, durable: true });
    const seen: number[] = [];
    const batch = { size: 10, wait: "1s" } as const;
    cards.consume("rows", { from: "earliest", batch, retry: { attempts: 1 } }, (messages) => {
      seen.push(...messages.map(({ data: { id, color } }) => id + color.length));
    });
    await cards.publish({ id: 10, color: "red" });
    await app.start();
    await app.consumers.idle();
    assertEquals(seen, [13]);
    const { failures, lastError } = await reportOf(app);
    assertEquals([failures, lastError?.startsWith("The message does not fit the schema")], [3, true]);
    await Promise.all([app.stop(), writer.stop()]);
  });
}
