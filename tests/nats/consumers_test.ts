// Consumers on NATS servers: section 2 of the contract of work.

import { assert, assertEquals } from "@std/assert";
import { App, type DeadLetter } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { ticks } from "../spec/support/ticks.ts";
import { Relay } from "../support/relay.ts";
import { DURABLE, Holds, nodeOf, shareMessages, sorted, until, upTo } from "../contract/consumer_nodes.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

async function reportOf(app: App) {
  return (await app.reportTopics()).topics.find(({ name }) => name === "orders")!.consumers[0];
}

function test(title: string, body: (server: NatsServer) => Promise<void>): void {
  Deno.test({
    name: `Consumers on a NATS server: ${title}`,
    ignore: !hasNats,
    fn: async () => {
      using _log = new CapturedLog();
      await using server = await NatsServer.start();
      await body(server);
    },
  });
}

test("three nodes share the messages, and each is handled, also if the server is killed", async (server) => {
  const nodes = await shareMessages(server);
  const { app } = nodes[0]!;
  await until(async () => (await reportOf(app))!.position === (await app.reportTopics()).topics[0]!.head);
  await Promise.all(nodes.map(({ app }) => app.stop()));
});

test(
  "`A handler that throws is tried again on whichever node`, and then `published to deadLetter`",
  async (server) => {
    const tries: [data: number, attempt: number][] = [];
    const options = { retry: { attempts: 3, backoff: 1 }, deadLetter: "orders.failed" };
    const nodes = upTo(2).map(() => {
      const node = nodeOf(server.url, (data, { attempt }) => {
        tries.push([data, attempt]);
        if (data % 10 === 0) throw new Error(`no ${data}`);
      }, options);
      return { ...node, failed: node.app.topic<DeadLetter<number>>("orders.failed", DURABLE) };
    });
    await Promise.all(nodes.map(({ app }) => app.start()));
    const ids: string[] = [];
    for (const data of upTo(30)) ids.push((await nodes[data % 2]!.orders.publish(data)).id);
    const letters: DeadLetter<number>[] = [];
    for await (const entry of nodes[0]!.failed.subscribe({ from: "earliest" })) {
      assert("data" in entry);
      letters.push(entry.data);
      if (letters.length === 3) break;
    }
    letters.sort((one, other) => one.data! - other.data!);
    assertEquals(
      letters,
      [0, 10, 20].map((data) => ({
        ...{ topic: "orders", consumer: "mail", id: ids[data]!, type: null, data },
        ...{ error: `no ${data}`, attempts: 3 },
      })),
    );
    await until(async () => (await reportOf(nodes[0]!.app))!.lag === 0);
    assertEquals(tries.filter(([data]) => data === 10).map(([, attempt]) => attempt), [1, 2, 3]);
    assertEquals(sorted(tries.filter(([data]) => data % 10 > 0).map(([data]) => data)), upTo(30).filter((n) => n % 10));
    assertEquals((await nodes[0]!.app.reportTopics()).topics.find(({ name }) => name === "orders.failed")!.messages, 3);
    await Promise.all(nodes.map(({ app }) => app.stop()));
  },
);

test("`--retry orders/mail` redelivers failures, and the report shows them", async (server) => {
  const seen: number[] = [];
  let isBroken = true;
  const { app, orders } = nodeOf(server.url, (data) => {
    if (isBroken) throw new Error("no mail server");
    seen.push(data);
  }, { retry: { attempts: 2, backoff: 1 }, lease: "1s" });
  await app.start();
  await Promise.all(upTo(40).map((data) => orders.publish(data)));
  await until(async () => {
    const report = await reportOf(app);
    return report?.failures === 40 && report.lag === 0;
  });
  const { name, inFlight, lost, lastError } = (await reportOf(app))!;
  assertEquals([name, inFlight, lost, lastError], ["mail", 0, 0, "no mail server"]);
  isBroken = false;
  assertEquals(await app.consumers.retry("orders/mail"), { redelivered: 40, gone: [] });
  await until(() => seen.length >= 40);
  assertEquals(sorted(seen), upTo(40));
  await until(async () => (await reportOf(app))?.failures === 0);
  assertEquals(await app.consumers.remove("orders/mail"), undefined);
  await app.stop();
});

test(
  "`key: (message) => string keeps the messages of one key in order and one at a time`, on two nodes",
  async (server) => {
    const running = new Map<number, number>();
    const done = new Map<number, number[]>();
    const options: ConsumeOptions<number> = {
      ...{ key: ({ data }) => `${data % 5}`, concurrency: 4, retry: { attempts: 3, backoff: 1 } },
    };
    const nodes = upTo(2).map(() =>
      nodeOf(server.url, async (data, { attempt }) => {
        const key = data % 5;
        assertEquals(running.get(key), undefined, "Two messages of a key are handled at once");
        running.set(key, data);
        await ticks(1);
        running.delete(key);
        if (data % 7 === 0 && attempt === 1) throw new Error("again");
        const before = done.get(key) ?? [];
        // At least once: a repetition directly follows.
        if (before.at(-1) !== data) done.set(key, [...before, data]);
      }, options)
    );
    await Promise.all(nodes.map(({ app }) => app.start()));
    for (const data of upTo(100)) await nodes[0]!.orders.publish(data);
    await until(() => [...done.values()].flat().length >= 100);
    for (const key of upTo(5)) assertEquals(done.get(key), upTo(100).filter((data) => data % 5 === key));
    await Promise.all(nodes.map(({ app }) => app.stop()));
  },
);

test("`under kill -9 of nodes`: what a node had is handled by another one, which is no failed try", async (server) => {
  const seen: [number, number][] = [];
  await using program = await ChildProgram.start(
    `import { App } from "${CORE}";
    const app = new App({ topics: "${server.url}" });
    const orders = app.topic("orders", ${JSON.stringify(DURABLE)});
    let begun = 0;
    orders.consume("mail", { lease: "2s", concurrency: 8, from: "earliest" }, () => {
      if (++begun === 8) console.log("begun");
      return new Promise(() => {});
    });
    await app.start();
    setInterval(() => {}, 1000);`,
  );
  const publisher = new App({ topics: server.url });
  const orders = publisher.topic<number>("orders", DURABLE);
  await Promise.all(upTo(20).map((data) => orders.publish(data)));
  await program.printed("begun");
  const { app } = nodeOf(server.url, (data, { attempt }) => seen.push([data, attempt]), { lease: "2s" });
  await app.start();
  program.signal("SIGKILL");
  await until(() => seen.length >= 20);
  assertEquals(sorted(seen.map(([data]) => data)), upTo(20));
  assertEquals(new Set(seen.map(([, attempt]) => attempt)), new Set([1]));
  await Promise.all([publisher.stop(), app.stop()]);
});

for (const state of ["lossy", "stalled", "cut"] as const) {
  test(
    `a node whose wire is ${state} \`starts nothing new and aborts its signals\`, and \`no other node has\` what it has`,
    async (server) => {
      using relay = new Relay(server.port);
      const holds = new Holds();
      let [isFirstSlow, isOtherSlow] = [true, false];
      const options: ConsumeOptions<number> = { lease: "2s", concurrency: 4 };
      const first = nodeOf(relay.url, holds.handler("first", () => isFirstSlow), options);
      const other = nodeOf(server.url, holds.handler("other", () => isOtherSlow), options);
      await first.app.start();
      for (const data of upTo(4)) await first.orders.publish(data);
      await until(() => holds.of("first").length === 4);
      await other.app.start();
      relay.set(state);
      // The other one goes on while the first cannot.
      for (const data of [4, 5, 6, 7]) await other.orders.publish(data);
      await until(() => holds.of("first").every(({ signal }) => signal.aborted));
      isFirstSlow = false;
      await until(() => holds.handled.size === 8);
      assertEquals(sorted([...holds.handled]), upTo(8));
      assertEquals(holds.of("first").length, 4, "The node began something while it was cut off");
      assertEquals(sorted([...new Set(holds.of("other").map(({ data }) => data))]), upTo(8));
      // The other one has its hands full with a part of what comes now.
      isOtherSlow = true;
      const before = holds.of("other").length;
      for (const data of upTo(20)) await other.orders.publish(8 + data);
      await until(() => holds.of("other").length >= before + 4);
      relay.set("whole");
      await until(() => holds.of("first").length > 4);
      isOtherSlow = false;
      await until(() => holds.handled.size === 28);
      assertEquals(sorted([...holds.handled]), upTo(28));
      await Promise.all([first.app.stop(), other.app.stop()]);
      assertEquals(holds.faults, []);
    },
  );
}

test("a node that is cut off while it stops does so in bounded time, and another one gets what it had", async (server) => {
  using relay = new Relay(server.port);
  const holds = new Holds();
  const options: ConsumeOptions<number> = { lease: "2s", concurrency: 4 };
  const first = nodeOf(relay.url, holds.handler("first", () => true), options);
  const other = nodeOf(server.url, holds.handler("other", () => false), options);
  await first.app.start();
  for (const data of upTo(4)) await first.orders.publish(data);
  await until(() => holds.of("first").length === 4);
  relay.set("stalled");
  await first.app.stop();
  assert(holds.of("first").every(({ signal }) => signal.aborted));
  await other.app.start();
  await until(() => holds.handled.size === 4);
  assertEquals(sorted([...holds.handled]), upTo(4));
  await other.app.stop();
  assertEquals(holds.faults, []);
});
