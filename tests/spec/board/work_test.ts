// "Topics: each topic: newest id, messages, bytes, rate plot, subscribers, schema; messages by page,
// by id, by time; publish […] Consumers: lag and rate plots, in flight (message, node, since, try),
// failures with error and data, dead letters; retry one, retry all, discard […] Crons: schedule,
// next five times, last runs with outcome and duration; run now. Health: nodes that share the store,
// store and its delay, streams, sockets, memory, delay of the event loop. What concerns the store is
// the same on every node." (board.md, section 2)

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import * as v from "valibot";
import { App } from "../../../mod.ts";
import { ProblemError } from "../../../src/client/mod.ts";
import type { WorkInfo } from "../../../src/board/work_view.ts";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import { boardOf, showBoard } from "./board.ts";

/** The first reading that a condition holds for. */
async function reading(app: App, holds: (info: WorkInfo) => boolean): Promise<WorkInfo> {
  for await (const event of boardOf(app).events("/api/work/events")) {
    if (!event.gap && holds(event.data)) return event.data;
  }
  throw new Error("The stream ended");
}

const Order = v.object({ id: v.string(), total: v.number() });

Deno.test("A topic has its size, its newest message, its schema, and pages of its messages", async () => {
  const app = new App({ log: () => {} });
  const orders = app.topic("orders", { schema: Order, retention: { count: 450 } });
  showBoard(app);
  await app.start();
  const ids: string[] = [];
  for (let total = 0; total < 500; total++) ids.push((await orders.publish({ id: `o${total}`, total })).id);
  const board = boardOf(app);
  const { topics } = await reading(app, () => true);
  const { rates, bytes, newest, ...topic } = topics[0]!;
  assertEquals(topic, {
    ...{
      name: "orders",
      durable: false,
      messages: 450,
      head: ids.at(-1)!,
      subscribers: 0,
      isDeclared: true,
      failure: null,
    },
    retention: { age: null, count: 450, bytes: 67_108_864 },
  });
  assert(bytes > 450 * 20 && newest !== null);
  assertEquals(rates.counts.reduce((sum, count) => sum + count, 0), 450);
  assertEquals((await board.get("/api/schema", { topic: "orders" })).schema?.required, ["id", "total"]);

  const seen: string[] = [];
  let before: string | undefined;
  for (;;) {
    const page = await board.get("/api/messages", { topic: "orders", ...(before && { before }) });
    seen.push(...page.messages.map(({ id }) => id));
    if (page.before === null) break;
    before = page.before;
  }
  assertEquals(seen, ids.slice(50).reverse());
  const at = await board.get("/api/messages", { topic: "orders", id: ids[100]! });
  assertEquals([at.messages[0]!.id, at.messages[0]!.preview], [ids[100], '{"id":"o100","total":100}']);
  const all = await board.get("/api/messages", { topic: "orders", time: new Date(0).toISOString() });
  assertEquals([all.messages.at(-1)!.id, all.before], [ids[50], null]);
  const { data } = await board.get("/api/message", { topic: "orders", id: ids[100]! });
  assertEquals(data, { id: "o100", total: 100 });
  const gone = await assertRejects(() => board.get("/api/message", { topic: "orders", id: ids[0]! }), ProblemError);
  assertEquals(gone.status, 404);
  await app.stop();
});

Deno.test("Messages are counted once, however many read a topic at the same time", async () => {
  const app = new App({ log: () => {} });
  const orders = app.topic("orders", { retention: { count: 5_000 } });
  showBoard(app);
  await app.start();
  for (let total = 0; total < 2_500; total++) await orders.publish(total);
  const board = boardOf(app);
  await Promise.all(Array.from({ length: 5 }, () => board.get("/api/messages", { topic: "orders" })));
  const { topics } = await reading(app, () => true);
  assertEquals(topics[0]!.messages, 2_500);
  await app.stop();
});

Deno.test("A topic of another application is shown, and the board publishes nothing to it", async () => {
  const folder = await Deno.makeTempDir();
  const options = { topics: `${folder}/topics.sqlite`, log: () => {} };
  const other = new App(options);
  const theirs = other.topic("theirs", { durable: true });
  await other.start();
  await theirs.publish("one");
  await other.stop();
  const app = new App(options);
  app.topic("mine", { durable: true });
  showBoard(app);
  const board = boardOf(app);
  const refusal = await assertRejects(
    () => board.post("/api/publish", { body: { topic: "theirs", data: "two" } }),
    ProblemError,
  );
  assertEquals(refusal.status, 422);
  assertEquals((await board.get("/api/messages", { topic: "theirs" })).messages.map(({ preview }) => preview), [
    '"one"',
  ]);
  await app.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("A message is published by the board, and one that does not fit is refused with the reason", async () => {
  const app = new App({ log: () => {} });
  const orders = app.topic("orders", { schema: Order });
  const subscription = orders.subscribe();
  showBoard(app);
  const board = boardOf(app);
  const { id } = await board.post("/api/publish", { body: { topic: "orders", data: { id: "a", total: 1 } } });
  const { value } = await subscription.next();
  assert(value && "data" in value);
  assertEquals([value.id, value.data], [id, { id: "a", total: 1 }]);
  const refusal = await assertRejects(
    () => board.post("/api/publish", { body: { topic: "orders", data: { id: "a" } } }),
    ProblemError,
  );
  assertEquals(refusal.status, 422);
  assertMatch(refusal.problem.detail, /total/);
  const unknown = await assertRejects(
    () => board.post("/api/publish", { body: { topic: "others", data: 1 } }),
    ProblemError,
  );
  assertEquals(unknown.status, 404);
  await subscription.close();
  await app.stop();
});

Deno.test("A consumer has what is in flight and its failures, which are retried or discarded one by one", async () => {
  const app = new App({ log: () => {} });
  const orders = app.topic("orders", { schema: Order });
  let fails = true;
  const held = Promise.withResolvers<void>();
  const handled: string[] = [];
  orders.consume("mail", { retry: { attempts: 1 }, lease: "1s" }, async ({ data: { id } }) => {
    if (id === "slow") await held.promise;
    else if (fails) throw new Error(`no mail for ${id}`);
    handled.push(id);
  });
  showBoard(app);
  await app.start();
  for (const id of ["a", "b", "c", "slow"]) await orders.publish({ id, total: 1 });
  const board = boardOf(app);
  const { consumers } = await reading(app, ({ consumers }) => {
    return consumers[0]?.failures === 3 && consumers[0].inFlight.length === 1;
  });
  const [mail] = consumers;
  assertEquals([mail!.topic, mail!.name, mail!.attempts], ["orders", "mail", 1]);
  assert(mail!.lag > 0 && mail!.inFlight[0]!.attempt === 1);
  assertEquals(mail!.lastError, "no mail for c");
  const failures = await board.get("/api/failures", { topic: "orders", consumer: "mail" });
  assert(failures.every(({ time }) => time! <= Date.now() && time! > Date.now() - 600_000));
  assertEquals(failures.map(({ error, attempts }) => [error, attempts]), [
    ["no mail for c", 1],
    ["no mail for b", 1],
    ["no mail for a", 1],
  ]);
  fails = false;
  const change = (action: "retry" | "discard", id?: string) =>
    board.post("/api/consumers/{action}", { action, body: { topic: "orders", consumer: "mail", ...(id && { id }) } });
  assertEquals((await change("retry", failures[1]!.id)).message, "1 message is redelivered");
  assertEquals((await change("discard", failures[0]!.id)).message, "1 message is discarded");
  assertEquals((await change("retry")).message, "1 message is redelivered");
  held.resolve();
  await reading(app, ({ consumers }) => consumers[0]!.failures === 0 && handled.length === 3);
  assertEquals(handled.toSorted(), ["a", "b", "slow"]);
  await app.stop();
});

Deno.test("Failures are redelivered once, though two tabs ask for it at the same time", async () => {
  const app = new App({ log: () => {} });
  const orders = app.topic("orders");
  let fails = true;
  const handled: unknown[] = [];
  orders.consume("mail", { retry: { attempts: 1 } }, async ({ data }) => {
    if (fails) throw new Error("no mail");
    handled.push(data);
  });
  showBoard(app);
  await app.start();
  for (let total = 0; total < 20; total++) await orders.publish(total);
  await reading(app, ({ consumers }) => consumers[0]?.failures === 20);
  fails = false;
  const board = boardOf(app);
  const act = (action: "retry" | "discard") =>
    board.post("/api/consumers/{action}", { action, body: { topic: "orders", consumer: "mail" } });
  const replies = await Promise.all([act("retry"), act("retry"), act("retry"), act("discard")]);
  const counts = replies.map(({ message }) => Number(/^\d+/.exec(message)![0]));
  assertEquals(counts.toSorted((one, other) => one - other), [0, 0, 0, 20]);
  if (replies[3]!.message.startsWith("0")) {
    await app.consumers.idle("orders/mail");
    assertEquals(handled.length, 20);
  }
  await app.stop();
});

Deno.test("A cron has its next five times, and runs now with its outcome", async () => {
  const app = new App({ log: () => {} });
  let runs = 0;
  app.cron("sweep", "30 2 * * 1", { timeZone: "Europe/Berlin" }, async () => void runs++);
  app.cron("fails", "*/5 * * * *", async () => {
    throw new Error("no disk");
  });
  showBoard(app);
  const { crons } = await reading(app, () => true);
  const sweep = crons.find(({ name }) => name === "sweep")!;
  assertEquals([sweep.schedule, sweep.timeZone, sweep.next.length, sweep.recent], [
    "30 2 * * 1",
    "Europe/Berlin",
    5,
    [],
  ]);
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: "Europe/Berlin",
    weekday: "short",
    timeStyle: undefined,
  });
  assertEquals(sweep.next.map((time) => format.format(time)), Array(5).fill("Mon"));
  const board = boardOf(app);
  assertEquals((await board.post("/api/crons/run", { body: { name: "sweep" } })).error, null);
  assertEquals((await board.post("/api/crons/run", { body: { name: "fails" } })).error, "no disk");
  assertEquals(runs, 1);
  await app.stop();
});

Deno.test("While the store does not answer, what is declared and was known stays, with the reason", async () => {
  let isDown = false;
  const guarded = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (isDown && name !== "close" && name !== "now") throw new Error("no connection");
          const result: unknown = value.apply(target, args);
          return name === "openRecords" ? Promise.resolve(result as object).then(guarded) : result;
        };
      },
    });
  const app = new App({ topics: guarded(new MemoryStore()), log: () => {} });
  const orders = app.topic("orders", { durable: true });
  orders.consume("mail", async () => {});
  app.cron("sweep", "0 3 * * *", async () => {});
  showBoard(app);
  await app.start();
  await orders.publish("one");
  await reading(app, ({ consumers }) => consumers.length === 1);
  isDown = true;
  const { topics, consumers, crons, health } = await reading(app, ({ health }) => health.store.failure !== null);
  assertEquals(topics.map(({ name, messages, failure }) => [name, messages, failure]), [[
    "orders",
    1,
    "no connection",
  ]]);
  assertEquals(consumers.map(({ name }) => name), ["mail"]);
  assertEquals(crons.map(({ name, next }) => [name, next.length]), [["sweep", 5]]);
  assertEquals(health.store.failure, "no connection");
  isDown = false;
  await reading(app, ({ health }) => health.store.failure === null);
  await app.stop();
});

Deno.test("All nodes that share a store are listed, and one that stops is not", async () => {
  const folder = await Deno.makeTempDir();
  const make = (version: string) => {
    const app = new App({ title: "Shop", version, topics: `${folder}/topics.sqlite`, log: () => {} });
    app.topic("orders", { durable: true });
    showBoard(app);
    return app;
  };
  const one = make("1.0.0");
  await one.start();
  const { health } = await reading(one, ({ health }) => health.points.at(-1)?.store !== null);
  assertEquals(health.nodes.map(({ version, isThis, isSilent }) => [version, isThis, isSilent]), [[
    "1.0.0",
    true,
    false,
  ]]);
  assert(health.memory.total > 0 && health.memory.heap > 0 && health.streams > 0);
  assertEquals(health.store, { durable: true, failure: null });
  const other = make("1.0.1");
  await other.start();
  await reading(one, ({ health }) => health.nodes.map(({ version }) => version).join() === "1.0.0,1.0.1");
  await reading(other, ({ health }) => health.nodes.find(({ isThis }) => isThis)?.version === "1.0.1");
  await other.stop();
  await reading(one, ({ health }) => health.nodes.length === 1);
  await one.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("The board of an application without durable topics opens no store", async () => {
  const folder = await Deno.makeTempDir();
  const app = new App({ topics: `${folder}/topics.sqlite`, log: () => {} });
  app.get("/", async () => "Hello");
  showBoard(app);
  const { topics, health } = await reading(app, () => true);
  assertEquals([topics, health.nodes.length, health.store.durable], [[], 1, false]);
  await app.stop();
  assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
  await Deno.remove(folder);
});
