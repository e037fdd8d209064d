/** What the rate of a consumer means, for each store of topics. */
import { assert, assertEquals } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import type { WithStore } from "./paused_consumers.ts";
import { until } from "../support/wait.ts";

type TopicsOption = NonNullable<AppOptions["topics"]>;

const DURABLE = { durable: true, retention: { bytes: 1e6 } } as const;
/** How late a handler may write down its time on a busy machine, in milliseconds. */
const LATE = 700;

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

/** The most messages that began within a time, in milliseconds. */
function mostIn(begins: readonly number[], time: number): number {
  return Math.max(...begins.map((begin) => begins.filter((other) => other >= begin && other < begin + time).length));
}

export function testConsumerRates(store: string, withStore: WithStore, ignore = false): void {
  const test = (title: string, body: (topics: TopicsOption) => Promise<void>) =>
    Deno.test({
      name: `${store}: ${title}`,
      ignore,
      fn: async () => {
        using _log = new CapturedLog();
        await withStore(body);
      },
    });

  for (const batch of [undefined, { size: 5, wait: "20ms" }] as const) {
    const kind = batch ? "batches, whose messages are counted" : "messages";
    test(`a rate bounds ${kind} and their retries for all nodes together`, async (topics) => {
      const begins: number[] = [];
      const done: number[] = [];
      const nodes = upTo(2).map(() => {
        const app = new App({ topics });
        const orders = app.topic<number>("orders", DURABLE);
        const options = {
          from: "earliest",
          rate: { limit: 10, per: "2s" },
          retry: { backoff: "10ms" },
          concurrency: 4,
        } as const;
        const handle = (data: readonly number[], attempt: number) => {
          for (const _ of data) begins.push(Date.now());
          if (attempt === 1 && data.some((one) => one % 10 === 0)) throw new Error("again");
          done.push(...data);
        };
        if (!batch) orders.consume("mail", options, ({ data }, { attempt }) => handle([data], attempt));
        else {
          orders.consume("mail", { ...options, batch }, (messages, { attempt }) => {
            handle(messages.map(({ data }) => data), attempt);
          });
        }
        return { app, orders };
      });
      const [{ app, orders }] = nodes as [typeof nodes[number]];
      await Promise.all(upTo(25).map((n) => orders.publish(n)));
      await Promise.all(nodes.map(({ app }) => app.start()));
      await app.consumers.idle();
      assertEquals(done.toSorted((one, other) => one - other), upTo(25));
      assert(begins.length >= 28);
      assert(mostIn(begins, 2_000 - LATE) <= 10, `${begins.map((time) => time - begins[0]!)}`);
      await Promise.all(nodes.map(({ app }) => app.stop()));
    });
  }

  test("a node that is killed does not hold its permits for ever, and they count until then", async (topics) => {
    await using killed = await ChildProgram.start(
      `import { App } from "${CORE}";
      const app = new App({ topics: ${JSON.stringify(topics)} });
      const orders = app.topic("orders", ${JSON.stringify(DURABLE)});
      let begun = 0;
      orders.consume("mail", { from: "earliest", lease: "1s", rate: { limit: 5, per: "4s" }, concurrency: 5 }, () => {
        if (++begun === 5) console.log("begun");
        return new Promise(() => {});
      });
      await app.start();
      for (let n = 0; n < 5; n++) await orders.publish(n);
      setInterval(() => {}, 1000);`,
    );
    await killed.printed("begun");
    const printed = Date.now();
    killed.signal("SIGKILL");
    await killed.end();
    const begins: number[] = [];
    const app = new App({ topics });
    app.topic<number>("orders", DURABLE)
      .consume(
        "mail",
        { from: "earliest", lease: "1s", rate: { limit: 5, per: "4s" } },
        () => void begins.push(Date.now()),
      );
    await app.start();
    await until("all are handled", () => begins.length === 5);
    assert(begins[0]! >= printed + 4_000 - LATE - 1_000, `${begins[0]! - printed}`);
    await app.consumers.idle();
    await app.stop();
  });
}
