// Section 2 of the contract of work: consumers of durable topics, in a file that processes share.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, type DeadLetter } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";
import { SmallStore } from "../support/small_store.ts";
import { until } from "../../support/wait.ts";

const DURABLE = { durable: true } as const;
const QUICK = { attempts: 2, backoff: 1 } as const;

type Handler = (data: number, attempt: number) => unknown;

/** An application with a consumer "mail" of the durable topic "orders". */
function appOf(topics: string, handler: Handler, options: ConsumeOptions = {}) {
  const app = new App({ topics });
  const orders = app.topic<number>("orders", DURABLE);
  orders.consume("mail", options as ConsumeOptions<number>, ({ data }, { attempt }) => handler(data, attempt));
  return { app, orders };
}

async function reportOf(app: App) {
  return (await app.reportTopics()).topics.find(({ name }) => name === "orders")!.consumers[0];
}

/** Starts a process whose consumer has a message in flight, and never ends with it. */
async function startBusy(topics: string, options: ConsumeOptions): Promise<ChildProgram> {
  const program = await ChildProgram.start(
    `import { App } from "${CORE}";
    const app = new App({ topics: ${JSON.stringify(topics)} });
    const orders = app.topic("orders", { durable: true });
    orders.consume("mail", ${JSON.stringify(options)}, () => {
      console.log("begun");
      return new Promise(() => {});
    });
    await app.start();
    await orders.publish(7);
    setInterval(() => {}, 1000);`,
  );
  await program.printed("begun");
  return program;
}

function test(title: string, body: (topics: string) => Promise<void>): void {
  Deno.test(title, async () => {
    using _log = new CapturedLog();
    await using folder = await TemporaryFolder.make();
    await body(folder.within("topics.sqlite"));
  });
}

test("messages wait while no process runs, and are handled once by one of several nodes", async (topics) => {
  const seen: number[] = [];
  const first = appOf(topics, (data) => seen.push(data));
  await first.app.start();
  await first.orders.publish(0);
  await until("the consumers have come so far", () => seen.length === 1);
  await first.app.stop();
  // Nobody consumes now.
  const publishing = new App({ topics });
  const publisher = publishing.topic<number>("orders", DURABLE);
  for (let n = 1; n < 50; n++) await publisher.publish(n);
  const nodes = [0, 1, 2].map(() => appOf(topics, (data) => seen.push(data), { concurrency: 2 }));
  await Promise.all(nodes.map(({ app }) => app.start()));
  for (let n = 50; n < 100; n++) await publisher.publish(n);
  await until("the consumers have come so far", () => seen.length >= 100);
  assertEquals(seen.toSorted((one, other) => one - other), Array.from({ length: 100 }, (_, n) => n));
  const { head } = (await nodes[0]!.app.reportTopics()).topics[0]!;
  await until("the consumers have come so far", async () => (await reportOf(nodes[0]!.app))?.position === head);
  await Promise.all([publishing, ...nodes.map(({ app }) => app)].map((app) => app.stop()));
});

test("`under kill -9 of nodes`: what a node had is handled by another one", async (topics) => {
  const seen: number[] = [];
  await using program = await startBusy(topics, { lease: "1s" });
  program.signal("SIGKILL");
  const { app } = appOf(topics, (data, attempt) => seen.push(data, attempt), { lease: "1s" });
  await app.start();
  await until("the consumers have come so far", () => seen.length > 0);
  // Its node ended, which is no failed try.
  assertEquals(seen, [7, 1]);
  await app.stop();
});

test("on a file, the next process goes on at once after kill -9, also with new messages", async (topics) => {
  const seen: number[] = [];
  // Nobody would wait for the end of this lease.
  const options = { lease: "1h", concurrency: 1 } as const;
  await using program = await startBusy(topics, options);
  program.signal("SIGKILL");
  await program.end();
  const { app, orders } = appOf(topics, (data) => seen.push(data), options);
  await app.start();
  await orders.publish(8);
  await until("the consumers have come so far", () => seen.length === 2);
  assertEquals(seen.toSorted(), [7, 8]);
  await app.stop();
});

test("`--retry orders/mail` redelivers failures; one whose message is no longer kept says so", async (topics) => {
  const seen: number[] = [];
  let isBroken = true;
  const { app, orders } = appOf(topics, (data) => {
    if (isBroken) throw new Error("no server");
    seen.push(data);
  }, { retry: QUICK, lease: "1s" });
  await app.start();
  for (let n = 0; n < 60; n++) await orders.publish(n);
  await until("the consumers have come so far", async () => (await reportOf(app))?.failures === 60);
  assertEquals((await reportOf(app))?.lastError, "no server");
  isBroken = false;
  assertEquals(await app.consumers.retry("orders/mail"), { redelivered: 60, gone: [] });
  await until("the consumers have come so far", () => seen.length >= 60);
  assertEquals(seen.toSorted((one, other) => one - other), Array.from({ length: 60 }, (_, n) => n));
  await until("the consumers have come so far", async () => (await reportOf(app))?.lag === 0);
  assertEquals((await reportOf(app))?.failures, 0);
  assertEquals(await app.consumers.retry("orders/mail"), { redelivered: 0, gone: [] });
  await assertRejects(
    () => app.consumers.retry("orders/mial"),
    TypeError,
    'Cannot redeliver failures of "orders/mial": the store has no such consumer, the nearest is "orders/mail"',
  );
  await app.stop();
});

Deno.test("a failure whose message was removed is reported by --retry, and forgotten", async () => {
  using _log = new CapturedLog();
  await using folder = await TemporaryFolder.make();
  const app = new App({ topics: folder.within("topics.sqlite") });
  const orders = app.topic<number>("orders", { durable: true, retention: { count: 10 } });
  orders.consume("mail", { retry: { attempts: 1 } }, ({ data }) => {
    if (data === 0) throw new Error("no");
  });
  await app.start();
  const { id } = await orders.publish(0);
  await until("the consumers have come so far", async () => (await reportOf(app))?.failures === 1);
  for (let n = 1; n < 200; n++) await orders.publish(n);
  await until("the consumers have come so far", async () => {
    const { messages } = (await app.reportTopics()).topics[0]!;
    return messages < 100;
  });
  assertEquals(await app.consumers.retry("orders/mail"), { redelivered: 0, gone: [id] });
  assertEquals((await reportOf(app))?.failures, 0);
  await app.stop();
});

test("`--remove orders/mail` forgets a consumer; one that is renamed is a new one", async (topics) => {
  const { app, orders } = appOf(topics, () => {
    throw new Error("no");
  }, { retry: { attempts: 1 } });
  await app.start();
  await orders.publish(1);
  await until("the consumers have come so far", async () => (await reportOf(app))?.failures === 1);
  await app.stop();

  const renamed = new App({ topics });
  const seen: number[] = [];
  renamed.topic<number>("orders", DURABLE).consume("post", { from: "earliest" }, ({ data }) => seen.push(data));
  await renamed.start();
  await until("the consumers have come so far", () => seen.length === 1);
  const names = async () => (await renamed.reportTopics()).topics[0]!.consumers.map(({ name }) => name);
  assertEquals(await names(), ["mail", "post"]);
  await renamed.consumers.remove("orders/mail");
  assertEquals(await names(), ["post"]);
  await assertRejects(() => renamed.consumers.remove("orders/mail"), TypeError, 'Cannot remove "orders/mail"');
  await renamed.stop();
});

test("a dead letter of a durable topic needs a durable topic", async (topics) => {
  const { app } = appOf(topics, () => {}, { deadLetter: "failed" });
  app.topic("failed");
  await assertRejects(() => app.start(), TypeError, 'its deadLetter "failed" is in memory, declare it with durable');
  await app.stop();
});

test("dead letters are published once for each message, and are there after a restart", async (topics) => {
  const { app, orders } = appOf(topics, (data) => {
    throw new Error(`no ${data}`);
  }, { retry: QUICK, deadLetter: "failed" });
  const failed = app.topic<DeadLetter>("failed", DURABLE);
  await app.start();
  await using letters = failed.subscribe();
  for (let n = 0; n < 5; n++) await orders.publish(n);
  for (let n = 0; n < 5; n++) await letters.next();
  await app.stop();
  const other = new App({ topics });
  const again = other.topic<DeadLetter>("failed", DURABLE);
  await using all = again.subscribe({ from: "earliest" });
  const found: unknown[] = [];
  for (let n = 0; n < 5; n++) {
    const { value } = await all.next();
    assert(value && "data" in value);
    found.push([value.data.data, value.data.error, value.data.attempts]);
  }
  await other.stop();
  assertEquals(found.sort(), [0, 1, 2, 3, 4].map((n) => [n, `no ${n}`, 2]));
});

test("a store without records says so at the start", async () => {
  const app = new App({ topics: new SmallStore() });
  app.topic("orders", DURABLE).consume("mail", () => {});
  await assertRejects(() => app.start(), TypeError, "has no records, give it openRecords()");
  await app.stop();
});
