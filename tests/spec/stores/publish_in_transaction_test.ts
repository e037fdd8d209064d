// Stores, section 2: "`publish` with `transaction` resolves to nothing". "A `TypeError`: […] a
// `DatabaseSync` without an open transaction, a store that is not SQL, a topic in memory." And
// section 8 of the interface: the schema decides before anything is sent.

import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { App, InvalidMessageError } from "@webfw/core";
import type { LogRef, NewMessage } from "@webfw/core/store";
import type { SqlTransaction } from "@webfw/core/types";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";

const Order = v.object({ id: v.string(), quantity: v.pipe(v.number(), v.integer()) });
const ORDER = { id: "o-1", quantity: 2 };

/** A store in memory whose transactions note what is added to them. */
class NotingStore extends MemoryStore {
  override readonly capabilities = { ...new MemoryStore().capabilities, maxMessageBytes: 60 * 1024 };
  readonly added: [transaction: unknown, log: LogRef, message: NewMessage][] = [];

  async appendIn(transaction: unknown, log: LogRef, message: NewMessage): Promise<void> {
    this.added.push([transaction, log, message]);
  }
}

/** A transaction of an asynchronous client. */
const transaction: SqlTransaction = { query: async () => ({ rows: [] }) };

/** A connection to a database in memory, with a transaction that is open. */
function begun(): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  db.exec("BEGIN");
  return db;
}

Deno.test("publish with a transaction gives the store one message, and resolves to nothing", async () => {
  const store = new NotingStore();
  const app = new App({ topics: store });
  const orders = app.topic("orders", { schema: Order, durable: true });
  assertEquals(await orders.publish(ORDER, { id: "o-1", type: "made", transaction }), undefined);
  await orders.publish(ORDER, { transaction });
  const [[given, log, message], [, , generated]] = store.added as [typeof store.added[0], typeof store.added[0]];
  assert(given === transaction);
  assertEquals(log.name, "orders");
  const data = JSON.stringify(ORDER);
  assertEquals(message, { id: "o-1", isGenerated: false, type: "made", data, bytes: data.length, trace: undefined });
  assert(generated.isGenerated && generated.id.length > 30);
  // Nothing is stored before the commit.
  assertEquals((await orders.head()).endsWith("-" + "0".repeat(22)), true);
  await app.stop();
});

Deno.test("a message that does not fit the schema of its topic does not reach the transaction", async () => {
  const store = new NotingStore();
  const app = new App({ topics: store });
  const schemas = [Order, v.pipeAsync(Order, v.checkAsync(async () => true))] as const;
  for (const [index, schema] of schemas.entries()) {
    const orders = app.topic(`orders ${index}`, { schema, durable: true });
    const misfit = { id: "o-1", quantity: 1.5 };
    const error = await assertRejects(() => orders.publish(misfit, { transaction }), InvalidMessageError);
    assertEquals(error.issues[0]?.path, ["quantity"]);
  }
  const large = app.topic<string>("large", { durable: true });
  await assertRejects(() => large.publish("a".repeat(70_000), { transaction }), RangeError, '"large"');
  await assertRejects(() => large.publish("a", { id: "", transaction }), TypeError, "the id must be");
  assertEquals(store.added, []);
  await app.stop();
});

Deno.test("in a transaction of a DatabaseSync, publish works in its call, and throws there", async () => {
  const store = new NotingStore();
  const app = new App({ topics: store });
  const orders = app.topic("orders", { schema: Order, durable: true });
  using db = begun();
  const published = orders.publish(ORDER, { transaction: db });
  assertEquals(store.added.length, 1);
  await published;
  // So that a synchronous function rolls back.
  const misfit = { id: "o-1", quantity: 1.5 };
  assertThrows(() => void orders.publish(misfit, { transaction: db }), InvalidMessageError);
  const large = app.topic<string>("large", { durable: true });
  assertThrows(() => void large.publish("a".repeat(70_000), { transaction: db }), RangeError);
  await app.stop();
});

Deno.test("an asynchronous schema is refused with a DatabaseSync, whose transaction may end before it", async () => {
  const store = new NotingStore();
  const app = new App({ topics: store });
  let checks = 0;
  const schema = v.pipeAsync(Order, v.checkAsync(async () => ++checks > 0));
  const orders = app.topic("orders", { schema, durable: true });
  using db = begun();
  const error = await assertRejects(() => orders.publish(ORDER, { transaction: db }), TypeError);
  assertStringIncludes(error.message, 'Cannot publish to the topic "orders" in a transaction of a DatabaseSync');
  assertStringIncludes(error.message, "make the asynchronous check before the transaction begins");
  assertEquals([checks, store.added.length], [0, 0]);
  await app.stop();
});

Deno.test("a topic in memory, and a store that is not SQL, are errors that name the topic and the cure", async () => {
  const app = new App({ topics: ":memory:" });
  const [quick, durable] = [app.topic<string>("quick"), app.topic<string>("durable", { durable: true })];
  using db = begun();
  for (const given of [transaction, db]) {
    const inMemory = await assertRejects(() => quick.publish("a", { transaction: given }), TypeError);
    assertStringIncludes(
      inMemory.message,
      'Cannot publish to the topic "quick" in a transaction: the topic is in memory',
    );
    assertStringIncludes(inMemory.message, "declare it with durable: true and keep the topics in the database");
    const other = await assertRejects(() => durable.publish("a", { transaction: given }), TypeError);
    assertStringIncludes(other.message, 'Cannot publish to the topic "durable" in a transaction: its store is no SQL');
    assertStringIncludes(other.message, 'new App({ topics: "postgres://…" }) or { sqlite: "…" }');
  }
  // Nothing was published beside the transaction instead.
  for (const topic of [quick, durable]) assert((await topic.head()).endsWith("0".repeat(22)));
  await app.stop();
});

Deno.test("a transaction that is undefined publishes nothing, and signal is refused beside one", async () => {
  const app = new App({ topics: new NotingStore() });
  const orders = app.topic("orders", { schema: Order, durable: true });
  for (const missing of [undefined, null]) {
    const options = { transaction: missing as unknown as SqlTransaction };
    const error = await assertRejects(() => orders.publish(ORDER, options), TypeError);
    assertStringIncludes(error.message, `transaction is ${missing}, leave the option out to publish without one`);
  }
  const options = { transaction, signal: AbortSignal.timeout(60_000) };
  await assertRejects(() => orders.publish(ORDER, options), TypeError, "signal has no effect in a transaction");
  const unknown = { transaction, Id: "1" };
  await assertRejects(() => orders.publish(ORDER, unknown), TypeError, 'the option "Id" is unknown');
  assert((await orders.head()).endsWith("0".repeat(22)));
  await app.stop();
});
