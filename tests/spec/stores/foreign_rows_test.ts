// Stores, section 1: the tables are in the database of the application, where other programs may
// write, too: "the user's own role `USAGE` and `INSERT` on the outbox". Work, section 1: a message
// that cannot be read is given up at once by consumers, and its readers get a gap of the reason
// `schema`. No message stops those after it.

import { assertEquals, assertMatch } from "@std/assert";
import { App, type DeadLetter, SSE } from "@webfw/core";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { EventReader } from "../support/event_reader.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const NO_DATA = ["not json", "", '{"id":', "[".repeat(20_000) + "]".repeat(20_000)];

/** Writes rows as a program without webfw would. */
function insert(file: string, topic: string, rows: readonly string[]): void {
  using db = new DatabaseSync(file, { timeout: 5_000 });
  const statement = db.prepare("INSERT INTO webfw_outbox (name, id, data, bytes) VALUES (?, ?, ?, 8)");
  for (const data of rows) statement.run(topic, crypto.randomUUID(), data);
}

const Transfer = v.object({ id: v.number() });
const SCHEMAS = {
  "without a schema": undefined,
  "with a schema": Transfer,
  "with an asynchronous schema": v.pipeAsync(Transfer, v.checkAsync(() => Promise.resolve(true))),
};

for (const [title, schema] of Object.entries(SCHEMAS)) {
  Deno.test(`rows that are no data are given up, and what follows them comes: a topic ${title}`, async () => {
    using log = new CapturedLog();
    await using folder = await TemporaryFolder.make();
    const file = folder.within("shop.sqlite");
    const app = new App({ topics: { sqlite: file } });
    const topic = app.topic<{ id: number }>("transfers", { schema: schema as never, durable: true });
    const dead = app.topic<DeadLetter>("dead", { durable: true });
    const letters = dead.subscribe({ from: "earliest" });
    const handled: unknown[] = [];
    const isHandled = Promise.withResolvers<void>();
    topic.consume("receipts", { from: "earliest", deadLetter: "dead", key: ({ data }) => `${data.id}` }, ({ data }) => {
      handled.push(data);
      if (handled.length === 2) isHandled.resolve();
    });
    app.get("/events", async () => SSE(topic.subscribe()));
    await app.start();
    await using reader = new EventReader(await app.fetch(new Request("http://localhost/events")));
    await reader.block();
    await using subscription = topic.subscribe({ from: "earliest" });
    const { id: from } = await topic.publish({ id: 1 });
    // Only what follows is a gap.
    assertEquals((await reader.next())?.data, '{"id":1}');
    insert(file, "transfers", NO_DATA);
    const { id: oldest } = await topic.publish({ id: 2 });
    const gap = { reason: "schema", from, oldest };
    const seen: unknown[] = [];
    for await (const entry of subscription) {
      seen.push("gap" in entry ? entry.gap : entry.data);
      if (seen.length === 3) break;
    }
    assertEquals(seen, [{ id: 1 }, gap, { id: 2 }]);
    const [missing, last] = await reader.take(2);
    assertEquals([missing!.event, JSON.parse(missing!.data), last!.data], ["webfw.gap", gap, '{"id":2}']);
    await isHandled.promise;
    assertEquals(handled.map((data) => (data as { id: number }).id).toSorted(), [1, 2]);
    const given: DeadLetter[] = [];
    for await (const entry of letters) {
      if ("data" in entry) given.push(entry.data);
      if (given.length === NO_DATA.length) break;
    }
    // The letters keep what was stored.
    assertEquals(given.map(({ data }) => data).toSorted(), NO_DATA.toSorted());
    for (const { error } of given) assertMatch(error, /does not fit .*: its data is (no JSON|nested too deeply)/);
    assertMatch(log.text, /WARN Stored messages do not fit .*topic=transfers .*message_id=/);
    assertMatch(log.text, /ERROR A message was given up .*message_id=/);
    await app.stop();
  });
}

Deno.test("rows that are no letters are skipped when dead letters are redelivered", async () => {
  using _log = new CapturedLog();
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const app = new App({ topics: { sqlite: file } });
  const topic = app.topic<string>("transfers", { durable: true });
  const dead = app.topic<DeadLetter>("dead", { durable: true });
  const letters = dead.subscribe({ from: "earliest" });
  const isHandled = Promise.withResolvers<void>();
  let isBroken = true;
  topic.consume("receipts", { deadLetter: "dead", retry: { attempts: 1 } }, () => {
    if (isBroken) throw new Error("broken");
    isHandled.resolve();
  });
  await app.start();
  insert(file, "dead", NO_DATA);
  await topic.publish("tea");
  for await (const entry of letters) if ("data" in entry) break;
  isBroken = false;
  assertEquals((await app.consumers.redrive("transfers/receipts")).redelivered, 1);
  await isHandled.promise;
  await app.stop();
});

Deno.test("rows that are no scheduled messages and no webhooks are given up, and those after them are sent", async () => {
  using log = new CapturedLog();
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const received = Promise.withResolvers<string>();
  const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    received.resolve(await request.text());
    return new Response();
  });
  const app = new App({ topics: { sqlite: file }, webhooks: { allowPrivate: true } });
  const topic = app.topic<string>("later", { durable: true });
  const paid = app.webhook("paid", { body: v.string() });
  await app.start();
  await using subscription = topic.subscribe({ from: "earliest" });
  const rows = [
    ...NO_DATA,
    "null",
    "7",
    "{}",
    '{"url":"not a URL"}',
    '{"topic":7,"policy":"{}","id":"a","at":0,"data":1}',
  ];
  insert(file, "webfw.scheduled", rows);
  insert(file, "webfw.webhooks", rows);
  using db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec("BEGIN");
  topic.publish("tea", { transaction: db, after: 1 });
  await paid.send(`http://127.0.0.1:${receiver.addr.port}/`, "tea", {
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    transaction: db,
  });
  db.exec("COMMIT");
  const { value } = await subscription.next();
  assertEquals(value && "data" in value && value.data, "tea");
  assertEquals(await received.promise, '"tea"');
  assertEquals(
    log.text.match(/ERROR A scheduled message is unreadable and was given up message_id=/g)?.length,
    rows.length,
  );
  await app.stop();
  assertEquals(log.text.match(/ERROR A message was given up topic=webfw.webhooks/g)?.length, rows.length);
  await receiver.shutdown();
});

Deno.test("a list of topics warns of messages in the outbox whose topic no node declares, once", async () => {
  using log = new CapturedLog();
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const app = new App({ topics: { sqlite: file } });
  app.topic("transfers", { durable: true });
  await app.start();
  insert(file, "tranfsers", ["1", "2"]);
  for (let times = 0; times < 2; times++) {
    assertEquals((await app.reportTopics()).topics.map(({ name }) => name), ["transfers"]);
  }
  const entries = log.lines.filter((line) => line.includes("WARN"));
  assertEquals(entries.length, 1);
  assertMatch(entries[0]!, /Messages wait in the outbox until a node declares their topics topics="tranfsers \(2\)"/);
  await app.stop();
});
