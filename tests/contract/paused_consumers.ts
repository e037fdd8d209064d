/** What pausing a consumer means, for each store of topics. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { until } from "../support/wait.ts";

type TopicsOption = NonNullable<AppOptions["topics"]>;

/** Gives a test the option `topics` of applications that share a new store. */
export type WithStore = (body: (topics: TopicsOption) => Promise<void>) => Promise<void>;

const DURABLE = { durable: true, retention: { bytes: 1e6 } } as const;

interface Call {
  readonly data: number;
  readonly attempt: number;
  readonly node: number;
  readonly end: () => void;
}

/** Nodes whose handlers end when the test says so, or at once. */
class Nodes {
  readonly apps: App[] = [];
  readonly begun: Call[] = [];
  readonly done: number[] = [];
  isSlow = false;
  readonly #topics: TopicsOption;
  readonly #options: ConsumeOptions<number>;

  constructor(topics: TopicsOption, options: ConsumeOptions<number> = {}) {
    this.#topics = topics;
    this.#options = options;
  }

  async start(): Promise<App> {
    const app = new App({ topics: this.#topics });
    const node = this.apps.push(app);
    app.topic<number>("orders", DURABLE).consume(
      "mail",
      { from: "earliest", ...this.#options },
      async (message, { attempt }) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.begun.push({ data: message.data, attempt, node, end: resolve });
        if (this.isSlow) await promise;
        this.done.push(message.data);
      },
    );
    await app.start();
    return app;
  }

  async publish(...data: number[]): Promise<void> {
    const orders = this.apps[0]!.topic<number>("orders");
    await Promise.all(data.map((one) => orders.publish(one)));
  }

  endAll(): void {
    this.isSlow = false;
    for (const { end } of this.begun) end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.endAll();
    await Promise.all(this.apps.map((app) => app.stop()));
  }
}

export async function reportOf(app: App, name = "mail") {
  return (await app.consumers.report()).find((report) => report.name === name)!;
}

/** Waits until all nodes have seen the pause: nodes that have log entries about it. */
async function sawPause(log: CapturedLog, nodes: number, what = "paused"): Promise<void> {
  await until(`${nodes} nodes have seen that the consumer is ${what}`, () => {
    return log.text.split(`A consumer is ${what} `).length - 1 >= nodes;
  });
}

const sorted = (numbers: readonly number[]) => numbers.toSorted((one, other) => one - other);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

export function testPausedConsumers(store: string, withStore: WithStore, ignore = false): void {
  const test = (title: string, body: (topics: TopicsOption, log: CapturedLog) => Promise<void>) =>
    Deno.test({
      name: `${store}: ${title}`,
      ignore,
      fn: async () => {
        using log = new CapturedLog();
        await withStore((topics) => body(topics, log));
      },
    });

  test("`pause` is `for all nodes`, messages wait meanwhile, and are handled after `resume`", async (topics, log) => {
    await using nodes = new Nodes(topics);
    const [first, second] = [await nodes.start(), await nodes.start()];
    await nodes.publish(0, 1, 2);
    await until("all are handled", () => nodes.done.length === 3);
    const { paused: before } = await reportOf(first);
    assertEquals(before, undefined);

    await second.consumers.pause("orders/mail");
    await sawPause(log, 2);
    await nodes.publish(...upTo(20).map((n) => n + 3));
    // A node that joins handles nothing either.
    await nodes.start();
    await sawPause(log, 3);
    const { paused, inFlight } = await reportOf(first);
    assert(paused! <= new Date(Date.now() + 60_000) && paused! >= new Date(Date.now() - 60_000));
    assertEquals([inFlight, nodes.begun.length], [0, 3]);
    await until("the lag grows", async () => (await reportOf(second)).lag > 0);
    await assertRejects(() => first.consumers.idle(), Error, 'Cannot wait for "orders/mail": messages wait, and it is');

    await first.consumers.resume("orders/mail");
    await first.consumers.idle();
    assertEquals(sorted(nodes.done), upTo(23));
    assertEquals((await reportOf(second)).paused, undefined);
  });

  test("`what is in flight goes on to its end`, and nothing else begins", async (topics, log) => {
    await using nodes = new Nodes(topics, { concurrency: 2, lease: "2s" });
    const app = await nodes.start();
    nodes.isSlow = true;
    await nodes.publish(...upTo(10));
    await until("two are in flight", () => nodes.begun.length === 2);
    await app.consumers.pause("orders/mail");
    await sawPause(log, 1);
    // Longer than the lease: the node keeps what it has.
    const other = await nodes.start();
    await sawPause(log, 2);
    await until("the lease was renewed", async () => (await reportOf(other)).lag > 3_000);
    assertEquals([nodes.begun.length, (await reportOf(other)).inFlight], [2, 2]);
    nodes.endAll();
    await until("they have ended", async () => (await reportOf(app)).inFlight === 0);
    assertEquals([nodes.begun.length, sorted(nodes.done)], [2, sorted(nodes.begun.map(({ data }) => data))]);
    await app.consumers.resume("orders/mail");
    await other.consumers.idle();
    assertEquals(sorted(nodes.done), upTo(10));
    assertEquals(new Set(nodes.begun.map(({ attempt }) => attempt)), new Set([1]));
  });

  test("a pause is `kept over restarts`, and after `kill -9`", async (topics, log) => {
    {
      await using nodes = new Nodes(topics);
      const app = await nodes.start();
      await app.consumers.pause("orders/mail");
      await nodes.publish(1);
    }
    await using program = await ChildProgram.start(
      `import { App } from "${CORE}";
      const app = new App({ topics: ${JSON.stringify(topics)} });
      app.topic("orders", ${JSON.stringify(DURABLE)}).consume("mail", { from: "earliest" }, () => console.log("begun"));
      await app.start();
      console.log((await app.consumers.report())[0].paused instanceof Date ? "paused" : "running");
      setInterval(() => {}, 1000);`,
    );
    await program.printed("paused");
    program.signal("SIGKILL");
    await program.end();
    await using nodes = new Nodes(topics);
    const app = await nodes.start();
    await sawPause(log, 1);
    assert((await reportOf(app)).paused);
    assertEquals(nodes.begun, []);
    await app.consumers.resume("orders/mail");
    await app.consumers.idle();
    assertEquals(nodes.done, [1]);
  });

  test("messages of one key stay in order over pauses", async (topics, log) => {
    await using nodes = new Nodes(topics, { key: ({ data }) => `${data % 3}`, concurrency: 4 });
    await nodes.start();
    const other = await nodes.start();
    const publishing = (async () => {
      for (const n of upTo(90)) await nodes.publish(n);
    })();
    for (const round of upTo(3)) {
      await until("some are handled", () => nodes.done.length >= 10 * (round + 1));
      await other.consumers.pause("orders/mail");
      await sawPause(log, 2 * (round + 1));
      await other.consumers.resume("orders/mail");
      await sawPause(log, 2 * (round + 1), "resumed");
    }
    await publishing;
    await other.consumers.idle();
    for (const key of upTo(3)) {
      const handled = nodes.done.filter((n) => n % 3 === key);
      assertEquals([...new Set(handled)], upTo(90).filter((n) => n % 3 === key));
    }
  });

  test("`pause` twice keeps the time, `resume` twice does nothing; an unknown name is an error", async (topics) => {
    await using nodes = new Nodes(topics);
    const app = await nodes.start();
    await Promise.all([app.consumers.pause("orders/mail"), app.consumers.pause("orders/mail")]);
    const { paused } = await reportOf(app);
    await app.consumers.pause("orders/mail");
    assertEquals((await reportOf(app)).paused, paused);
    await Promise.all([app.consumers.resume("orders/mail"), app.consumers.resume("orders/mail")]);
    await app.consumers.resume("orders/mail");
    assertEquals((await reportOf(app)).paused, undefined);
    await assertRejects(
      () => app.consumers.pause("mail"),
      TypeError,
      'Cannot pause "mail": the store has no such consumer, the nearest is "orders/mail"',
    );
    // An application that does not declare it finds it in the store.
    const operator = new App({ topics });
    await operator.consumers.pause("orders/mail");
    assert((await reportOf(app)).paused);
    await assertRejects(() => operator.consumers.resume("order/mail"), TypeError, 'the nearest is "orders/mail"');
    await operator.stop();
  });

  test("a consumer can be paused before its first start, and has its place from then on", async (topics) => {
    const app = new App({ topics });
    const orders = app.topic<number>("orders", DURABLE);
    const seen: number[] = [];
    orders.consume("mail", ({ data }) => seen.push(data));
    await orders.publish(1);
    await app.consumers.pause("orders/mail");
    await orders.publish(2);
    await app.start();
    assert((await reportOf(app)).paused);
    await app.consumers.resume("orders/mail");
    await app.consumers.idle();
    assertEquals(seen, [2]);
    await app.stop();
  });
}
