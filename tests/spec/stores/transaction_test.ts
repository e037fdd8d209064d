// Stores, section 2, in a file of SQLite: "The message is there exactly if the transaction commits;
// […] it takes its place in the order after the commit, with its `id` compared then. So `publish`
// with `transaction` resolves to nothing […]. It reaches a subscriber of another process […] of the
// commit, also where the publishing process dies after it." "A `TypeError`: a pool or whole client,
// a `DatabaseSync` without an open transaction […]."

import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { App, InvalidMessageError, type Topic } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import type { SqlTransaction } from "@webfw/core/types";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import { take, takeData } from "../../contract/reading.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

class Undo extends Error {}

/** Opens the application's own connection to a file. */
function open(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY)");
  return db;
}

/** Runs a synchronous action in a transaction. */
function transact<Result>(db: DatabaseSync, action: () => Result): Result {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = action();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Adds a row and its message. */
function order(db: DatabaseSync, topic: Topic<string>, id: string): Promise<void> {
  db.prepare("INSERT INTO orders VALUES (?)").run(id);
  return topic.publish(id, { id, transaction: db });
}

function rowsOf(db: DatabaseSync): unknown[] {
  return db.prepare("SELECT id FROM orders ORDER BY rowid").all().map(({ id }) => id);
}

/** Two nodes that share a file, and the connection that one of them has to it. */
class Shop implements AsyncDisposable {
  readonly app: App;
  readonly topic: Topic<string>;
  /** The topic on the other node. */
  readonly other: Topic<string>;
  readonly db: DatabaseSync;
  readonly #elsewhere: App;

  private constructor(readonly folder: TemporaryFolder, readonly file: string) {
    this.app = new App({ topics: { sqlite: file } });
    this.#elsewhere = new App({ topics: { sqlite: file } });
    this.topic = this.app.topic<string>("orders", { durable: true });
    this.other = this.#elsewhere.topic<string>("orders", { durable: true });
    this.db = open(file);
  }

  static async start(): Promise<Shop> {
    const folder = await TemporaryFolder.make();
    const shop = new Shop(folder, folder.within("shop.sqlite"));
    await Promise.all([shop.app.start(), shop.#elsewhere.start()]);
    return shop;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.db.close();
    await Promise.all([this.app.stop(), this.#elsewhere.stop()]);
    await this.folder[Symbol.asyncDispose]();
  }
}

Deno.test("a message is there exactly if its transaction commits, on all nodes", async () => {
  await using shop = await Shop.start();
  const { db, topic, other } = shop;
  const readers = [topic, other].map((topic) => topic.subscribe({ from: "earliest" }));
  assertEquals(await transact(db, () => order(db, topic, "tea")), undefined);
  assertThrows(() =>
    transact(db, () => {
      order(db, topic, "undone");
      throw new Undo();
    }), Undo);
  // A savepoint that is undone, in a transaction that commits.
  transact(db, () => {
    order(db, topic, "coffee");
    db.exec("SAVEPOINT inner");
    order(db, topic, "undone too");
    db.exec("ROLLBACK TO inner");
    order(db, topic, "milk");
  });
  await topic.publish("end");
  for (const reader of readers) assertEquals(await takeData(reader, 4), ["tea", "coffee", "milk", "end"]);
  assertEquals(rowsOf(db), ["tea", "coffee", "milk"]);
});

Deno.test("a message that cannot be published undoes the rows of a synchronous function", async () => {
  await using shop = await Shop.start();
  const { app, db } = shop;
  const topic = app.topic("checked", { schema: v.pipe(v.string(), v.maxLength(5)), durable: true });
  assertThrows(() => transact(db, () => order(db, topic, "too long")), InvalidMessageError);
  const large = app.topic<string>("large", { durable: true });
  assertThrows(() =>
    transact(db, () => {
      order(db, topic, "tea");
      large.publish("a".repeat(70_000), { transaction: db });
    }), RangeError);
  assertEquals(rowsOf(db), []);
});

Deno.test("an id is compared after the commit, and known to later publishes", async () => {
  await using shop = await Shop.start();
  const { db, topic } = shop;
  const publish = (id: string, data: string) => topic.publish(data, { id, transaction: db });
  const first = await topic.publish("outside", { id: "1" });
  transact(db, () => {
    publish("1", "known");
    publish("2", "inside");
    publish("2", "twice in one transaction");
  });
  transact(db, () => publish("2", "in another transaction"));
  assertEquals((await topic.publish("again", { id: "2" })).duplicate, true);
  assertEquals(await topic.publish("again", { id: "1" }), { id: first.id, duplicate: true });
  // An id of a transaction that was undone is free.
  assertThrows(() =>
    transact(db, () => {
      publish("3", "undone");
      throw new Undo();
    }), Undo);
  assertEquals((await topic.publish("third", { id: "3" })).duplicate, false);
  assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 3), ["outside", "inside", "third"]);
});

Deno.test("messages have the order of the commits, and those of one transaction that of the calls", async () => {
  await using shop = await Shop.start();
  const { db, topic, other } = shop;
  const reading = takeData(other.subscribe({ from: "earliest" }), 21);
  const expected: string[] = [];
  for (let n = 0; n < 5; n++) {
    const ids = [`${n} a`, `${n} b`, `${n} c`];
    transact(db, () => void ids.forEach((id) => order(db, topic, id)));
    // What is published after the commit comes after it, from any node.
    await (n % 2 ? topic : other).publish(`after ${n}`);
    expected.push(...ids, `after ${n}`);
  }
  transact(db, () => order(db, topic, "last"));
  assertEquals(await reading, [...expected, "last"]);
});

Deno.test("types, traces and defaults of a schema are those of other messages", async () => {
  await using shop = await Shop.start();
  const { app, db } = shop;
  const schema = v.object({ item: v.string(), count: v.optional(v.number(), 1) });
  const topic = app.topic("typed \0 ~ ü", { schema, durable: true });
  transact(db, () => topic.publish({ item: "tea" }, { type: "made~", id: "a/~\0", transaction: db }));
  const [message] = await take(topic.subscribe({ from: "earliest" }), 1);
  assert(message && "data" in message);
  assertEquals([message.type, message.data], ["made~", { item: "tea", count: 1 }]);
});

const PUBLISHER = `
  import { App } from ${JSON.stringify(CORE)};
  import { DatabaseSync } from "node:sqlite";
  const app = new App({ topics: { sqlite: Deno.env.get("FILE")! } });
  const topic = app.topic<string>("orders", { durable: true });
  await app.start();
  const db = new DatabaseSync(Deno.env.get("FILE")!, { timeout: 5_000 });
  db.exec("BEGIN IMMEDIATE");
  db.prepare("INSERT INTO orders VALUES ('committed')").run();
  topic.publish("committed", { transaction: db });
  db.exec("COMMIT");
  db.exec("BEGIN IMMEDIATE");
  db.prepare("INSERT INTO orders VALUES ('open')").run();
  topic.publish("open", { transaction: db });
  Deno.kill(Deno.pid, "SIGKILL");
`;

Deno.test("a message comes though its publisher is killed right after the commit, and not what was open", async () => {
  await using shop = await Shop.start();
  const { db, file, other } = shop;
  await using reader = other.subscribe();
  await reader.cursor();
  await using child = await ChildProgram.start(PUBLISHER, { env: { FILE: file } });
  assertEquals(await takeData(reader, 1), ["committed"]);
  assertEquals((await child.end()).signal, "SIGKILL");
  await other.publish("end");
  assertEquals(await takeData(reader, 1), ["end"]);
  assertEquals(rowsOf(db), ["committed"]);
});

Deno.test("a message whose processes have all ended comes at the next start, to consumers too", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  {
    const app = new App({ topics: { sqlite: file } });
    app.topic<string>("orders", { durable: true }).consume("mail", async () => {});
    await app.start();
    await app.stop();
  }
  using db = open(file);
  await using child = await ChildProgram.start(PUBLISHER, { env: { FILE: file } });
  await child.end();
  const app = new App({ topics: { sqlite: file } });
  const topic = app.topic<string>("orders", { durable: true });
  const { promise: mailed, resolve } = Promise.withResolvers<string>();
  topic.consume("mail", async ({ data }) => resolve(data));
  await app.start();
  assertEquals(await mailed, "committed");
  assertEquals(rowsOf(db), ["committed"]);
  await app.stop();
});

Deno.test("a handler publishes with its row, in a test, in a mounted application, and in a lifespan", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const shop = new App({ topics: { sqlite: file } });
  const topic = shop.topic<string>("orders", { durable: true });
  using db = open(file);
  shop.lifespan(async function* () {
    transact(db, () => order(db, topic, "at the start"));
    yield;
  });
  shop.post("/orders/{id}", { status: 201 }, async (_request, { id }) => {
    await transact(db, () => order(db, topic, id));
  });
  const app = new App();
  app.mount("/shop", shop);
  await using client = new TestClient(app);
  assertEquals((await client.post("/shop/orders/tea")).status, 201);
  await client.post("/shop/orders/milk");
  assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 3), ["at the start", "tea", "milk"]);
});

Deno.test("mistaken transactions are errors that name the topic and the cure, and publish nothing", async () => {
  await using shop = await Shop.start();
  const { db, file, topic } = shop;
  const refuse = async (transaction: unknown, ...parts: string[]): Promise<void> => {
    const options = { transaction: transaction as SqlTransaction };
    const error = await assertRejects(async () => await topic.publish("a", options), TypeError);
    for (const part of ['Cannot publish to the topic "orders" in a transaction', ...parts]) {
      assertStringIncludes(error.message, part);
    }
  };
  await refuse(db, "the DatabaseSync has no open transaction, run BEGIN before");
  for (const given of [true, "sql", 7, {}, () => {}, { query: {} }]) await refuse(given, "transaction must be");
  using other = new DatabaseSync(":memory:");
  other.exec("BEGIN");
  await refuse(other, "the DatabaseSync has a database in memory", `the topics are in ${file}, open that file`);
  await using folder = await TemporaryFolder.make();
  using third = new DatabaseSync(folder.within("other.sqlite"));
  third.exec("BEGIN");
  await refuse(third, "other.sqlite open", "open that file");
  // Clients of PostgreSQL.
  const nothing = async () => [];
  await refuse({ unsafe: nothing, savepoint: nothing }, "one of PostgreSQL", file);
  await refuse({ query: nothing, getTransactionStatus: () => "T" }, "one of PostgreSQL", file);
  await refuse({ query: nothing, totalCount: 1 }, "a pool of node-postgres", "pool.connect() after BEGIN");
  await topic.publish("only this");
  assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 1), ["only this"]);
});

Deno.test("a DatabaseSync before the start of the application is an error", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const app = new App({ topics: { sqlite: file } });
  const topic = app.topic<string>("orders", { durable: true });
  using db = open(file);
  const error = assertThrows(() => transact(db, () => order(db, topic, "early")), TypeError);
  assertStringIncludes(error.message, "the store is not open yet, start the application before");
  assertEquals(rowsOf(db), []);
  await app.stop();
});

Deno.test("an adapter publishes for another client of SQLite", async () => {
  await using shop = await Shop.start();
  const { db, topic } = shop;
  const texts: string[] = [];
  db.exec("BEGIN IMMEDIATE");
  await topic.publish("adapted", {
    transaction: {
      query: (text, parameters) => {
        texts.push(text);
        return db.prepare(text).run(...parameters as string[]);
      },
    },
  });
  db.exec("COMMIT");
  assertEquals(texts.length, 1);
  assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 1), ["adapted"]);
});
