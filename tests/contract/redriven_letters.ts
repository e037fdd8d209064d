/** What redelivering dead letters means, for each store of topics. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, type DeadLetter } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { until } from "../support/wait.ts";
import type { WithStore } from "./paused_consumers.ts";

type TopicsOption = Parameters<Parameters<WithStore>[0]>[0];

const DURABLE = { durable: true, retention: { bytes: 4e6 } } as const;
const ONCE = { attempts: 1 } as const;
const FAILED = "orders.failed";

interface Order {
  readonly n: number;
  readonly text?: string;
}

/** An application whose consumer "mail" fails while it is broken, beside a consumer "bill". */
class Shop {
  readonly app: App;
  isBroken = true;
  /** What "mail" has handled, and what "bill" has. */
  readonly mailed: number[] = [];
  readonly billed: number[] = [];

  constructor(topics: TopicsOption, options: ConsumeOptions<Order> = {}) {
    this.app = new App({ topics });
    const orders = this.app.topic<Order>("orders", DURABLE);
    this.app.topic<DeadLetter<Order>>(FAILED, DURABLE);
    orders.consume("mail", { from: "earliest", retry: ONCE, deadLetter: FAILED, ...options }, ({ data }) => {
      if (this.isBroken) throw new Error("no mail server");
      this.mailed.push(data.n);
    });
    orders.consume("bill", { from: "earliest", retry: ONCE, deadLetter: FAILED }, ({ data }) => {
      this.billed.push(data.n);
      if (data.n === 1) throw new Error("no bill");
    });
  }

  async start(): Promise<App> {
    await this.app.start();
    return this.app;
  }

  async publish(...orders: Order[]): Promise<void> {
    const topic = this.app.topic<Order>("orders");
    await Promise.all(orders.map((order) => topic.publish(order)));
  }

  async letters(): Promise<DeadLetter<Order>[]> {
    const topic = this.app.topic<DeadLetter<Order>>(FAILED);
    const head = await topic.head();
    const found: DeadLetter<Order>[] = [];
    if (/-0+$/.test(head)) return found;
    for await (const entry of topic.subscribe({ from: "earliest" })) {
      if (!("data" in entry)) continue;
      found.push(entry.data);
      if (entry.id >= head) break;
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.stop();
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const sorted = (numbers: readonly number[]) => numbers.toSorted((one, other) => one - other);

export function testRedrivenLetters(store: string, withStore: WithStore, ignore = false): void {
  const test = (title: string, body: (topics: TopicsOption) => Promise<void>) =>
    Deno.test({
      name: `${store}: ${title}`,
      ignore,
      fn: async () => {
        using _log = new CapturedLog();
        await withStore(body);
      },
    });

  test("`redrive` publishes dead letters `back to the consumer they came from, once each`", async (topics) => {
    await using shop = new Shop(topics);
    const app = await shop.start();
    await shop.publish(...upTo(5).map((n) => ({ n })));
    await app.consumers.idle();
    assertEquals((await shop.letters()).length, 6);
    shop.isBroken = false;
    assertEquals(await app.consumers.redrive("orders/mail"), { redelivered: 5, gone: [] });
    await app.consumers.idle();
    assertEquals(sorted(shop.mailed), upTo(5));
    // The other consumer of the topic has not seen them again, nor its own letter.
    assertEquals(sorted(shop.billed), upTo(5));
    assertEquals(await app.consumers.redrive("orders/mail"), { redelivered: 0, gone: [] });
    assertEquals(await app.consumers.retry("orders/mail"), { redelivered: 0, gone: [] });
    await shop.publish({ n: 5 });
    await app.consumers.idle();
    assertEquals([sorted(shop.mailed), sorted(shop.billed)], [upTo(6), upTo(6)]);
  });

  test("`--retry finds them, too`, and one that fails again is another dead letter", async (topics) => {
    await using shop = new Shop(topics);
    const app = await shop.start();
    await shop.publish({ n: 0 });
    await app.consumers.idle();
    for (const round of [1, 2, 3]) {
      assertEquals(await app.consumers.retry("orders/mail"), { redelivered: 1, gone: [] });
      await app.consumers.idle();
      const letters = await shop.letters();
      assertEquals(letters.map(({ consumer, data }) => [consumer, data!.n]), upTo(round + 1).map(() => ["mail", 0]));
      assertEquals(new Set(letters.map(({ id }) => id)).size, 1);
    }
    shop.isBroken = false;
    await app.consumers.redrive("orders/mail");
    await app.consumers.idle();
    assertEquals(shop.mailed, [0]);
  });

  test("two operators at once redeliver each letter once", async (topics) => {
    await using shop = new Shop(topics, { concurrency: 64 });
    const app = await shop.start();
    const others = [0, 1].map(() => new Shop(topics).app);
    await shop.publish(...upTo(300).map((n) => ({ n })));
    await app.consumers.idle();
    shop.isBroken = false;
    const results = await Promise.all([app, ...others].map((one) => one.consumers.redrive("orders/mail")));
    assertEquals(results.reduce((sum, { redelivered }) => sum + redelivered, 0), 300);
    await app.consumers.idle();
    assertEquals(sorted(shop.mailed), upTo(300));
    await Promise.all(others.map((other) => other.stop()));
  });

  test("operators that are killed (`kill -9`) halfway redeliver each letter once", async (topics) => {
    await using shop = new Shop(topics, { concurrency: 64 });
    const app = await shop.start();
    await shop.publish(...upTo(600).map((n) => ({ n })));
    await app.consumers.idle();
    shop.isBroken = false;
    for (const pause of [0, 2, 5, 10, 20]) {
      await using operator = await ChildProgram.start(
        `import { App } from "${CORE}";
        const app = new App({ topics: ${JSON.stringify(topics)} });
        app.topic("${FAILED}", ${JSON.stringify(DURABLE)});
        app.topic("orders", ${JSON.stringify(DURABLE)}).consume("mail", { deadLetter: "${FAILED}" }, () => {});
        await app.consumers.report();
        console.log("begins");
        setTimeout(() => Deno.kill(Deno.pid, "SIGKILL"), ${pause});
        await app.consumers.redrive("orders/mail");
        console.log("done");
        await new Promise(() => setInterval(() => {}, 1000));`,
      );
      await operator.printed("begins");
      await operator.end();
    }
    await app.consumers.redrive("orders/mail");
    await app.consumers.idle();
    assertEquals(sorted(shop.mailed), upTo(600));
  });

  test("a paused consumer gets dead letters when it is resumed; one with keys, in their order", async (topics) => {
    await using shop = new Shop(topics, { key: ({ data }) => `${data.n % 2}` });
    const app = await shop.start();
    await shop.publish(...upTo(40).map((n) => ({ n })));
    await app.consumers.idle();
    await app.consumers.pause("orders/mail");
    shop.isBroken = false;
    await app.consumers.redrive("orders/mail");
    await assertRejects(() => app.consumers.idle("orders/mail"), Error, "it is paused");
    assertEquals(shop.mailed, []);
    await app.consumers.resume("orders/mail");
    await app.consumers.idle();
    for (const key of [0, 1]) {
      assertEquals(shop.mailed.filter((n) => n % 2 === key), upTo(40).filter((n) => n % 2 === key));
    }
  });

  test("a letter without its data redelivers the message while it is stored", async (topics) => {
    await using shop = new Shop(topics);
    const app = await shop.start();
    // With the other properties of a letter, it is too large for a message.
    const text = "x".repeat(61_400);
    await shop.publish({ n: 0, text }, { n: 2, text });
    await app.consumers.idle();
    shop.isBroken = false;
    await app.consumers.redrive("orders/mail");
    await app.consumers.idle();
    assertEquals(sorted(shop.mailed), [0, 2]);
  });

  test("errors name what is missing", async (topics) => {
    await using shop = new Shop(topics);
    const app = await shop.start();
    await assertRejects(
      () => app.consumers.redrive("orders/mial"),
      TypeError,
      'Cannot redeliver dead letters of "orders/mial": the store has no such consumer, the nearest is "orders/mail"',
    );
    const operator = new App({ topics });
    operator.topic("orders", DURABLE).consume("post", () => {});
    await assertRejects(() => operator.consumers.redrive("orders/post"), TypeError, "it has no deadLetter");
    await assertRejects(
      () => operator.consumers.redrive("orders/mail"),
      TypeError,
      "this application does not declare it, use one whose consumer has deadLetter",
    );
    assert((await app.consumers.report()).every(({ failures }) => failures === 0));
    await operator.stop();
    await until("the consumer is idle", async () => (await app.consumers.report())[0]!.lag === 0);
  });
}
