// The programs of docs/with_your_database.md that need PostgreSQL, on a real server: an order and
// its message are there, once, and neither after an error.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import type { SqlTransaction } from "@webfw/core/types";
import { pathToFileURL } from "node:url";
import type { SQL } from "npm:drizzle-orm@0.45";
import { drizzle } from "npm:drizzle-orm@0.45/node-postgres";
import { Kysely, PostgresDialect, type Transaction } from "npm:kysely@0.28";
// @ts-types="npm:@types/pg@8"
import pg from "npm:pg@8.23.1";
import { Guide, type Step } from "../../dev/tools/guide.ts";
import { takeData } from "../contract/reading.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

const PAGE = "docs/with_your_database.md";
const ORDER = { id: "1", item: "tea" };

interface Adapters {
  inKysely(trx: Transaction<{ orders: typeof ORDER }>): SqlTransaction;
  inDrizzle(tx: { execute(statement: SQL): PromiseLike<unknown> }): SqlTransaction;
}

interface NodePostgres {
  readonly app: App;
  transact<Result>(action: (client: pg.PoolClient) => Promise<Result>): Promise<Result>;
}

/** A server with the table of the page, which its programs find in the environment. */
async function start(): Promise<PostgresServer> {
  const server = await PostgresServer.start();
  await server.query("CREATE TABLE orders (id text PRIMARY KEY, item text NOT NULL)");
  Deno.env.set("DATABASE_URL", server.url);
  return server;
}

async function load<Module>(guide: Guide, name: string): Promise<Module> {
  const step: Step | undefined = guide.steps.find(({ page, programs }) => page === PAGE && programs.has(name));
  assert(step !== undefined, `${PAGE} has no ${name}`);
  return await import(pathToFileURL(guide.fileOf(step, name)).href) as Module;
}

if (!hasPostgres) Deno.test.ignore(`The guide on PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  for (const name of ["postgres_js.ts", "node_postgres.ts"]) {
    Deno.test(`${name} of the guide adds an order and its message once, or neither`, async () => {
      await using guide = await Guide.open();
      await using server = await start();
      const { app } = await load<{ app: App }>(guide, name);
      const orders = app.topic("orders");
      {
        using _log = new CapturedLog();
        await using client = new TestClient(app);
        assertEquals((await client.post("/orders", { json: ORDER })).status, 201);
        assertEquals((await client.post("/orders", { json: ORDER })).status, 201);
        // The database refuses the item, after the message of another order in front of it.
        await server.query("ALTER TABLE orders ADD CHECK (item <> 'nothing') NOT VALID");
        await client.post("/orders", { json: { id: "2", item: "nothing" } }).problem(500);
        await client.post("/orders", { json: { id: "3", item: "milk" } });
        await using reader = orders.subscribe({ from: "earliest" });
        assertEquals(await takeData(reader, 2), [ORDER, { id: "3", item: "milk" }]);
      }
      assertEquals(await server.query("SELECT id FROM orders ORDER BY id"), ["1", "3"]);
    });
  }

  Deno.test("transact of the guide repeats what conflicted, and only the last attempt has published", async () => {
    await using guide = await Guide.open();
    await using server = await start();
    await server.query("CREATE TABLE duties (name text PRIMARY KEY, is_on boolean NOT NULL)");
    await server.query("INSERT INTO duties VALUES ('ada', true), ('bob', true)");
    const { app, transact } = await load<NodePostgres>(guide, "node_postgres.ts");
    const orders = app.topic("orders");
    await using client = new TestClient(app);
    await client.post("/orders", { json: ORDER });
    const both = Promise.withResolvers<void>();
    let attempts = 0;
    // Each leaves if the other one stays. Together they would both leave.
    const leave = (name: string) =>
      transact(async (client) => {
        const { rows: [row] } = await client.query("SELECT count(*)::int AS count FROM duties WHERE is_on");
        if (++attempts === 2) both.resolve();
        await both.promise;
        const leaves = row.count > 1;
        if (leaves) await client.query("UPDATE duties SET is_on = false WHERE name = $1", [name]);
        await orders.publish({ id: name, item: leaves ? "leaves" : "stays" }, { id: name, transaction: client });
      });
    await Promise.all([leave("ada"), leave("bob")]);
    assert(attempts > 2);
    await client.post("/orders", { json: { id: "9", item: "end" } });
    await using reader = orders.subscribe({ from: "earliest" });
    const items = (await takeData(reader, 4)).map((data) => (data as typeof ORDER).item);
    assertEquals(items.toSorted(), ["end", "leaves", "stays", "tea"]);
  });

  Deno.test("the program of the guide outlives the end of a connection in the middle of a transaction", async () => {
    await using guide = await Guide.open();
    await using server = await start();
    const { app, transact } = await load<NodePostgres>(guide, "node_postgres.ts");
    const orders = app.topic("orders");
    await using client = new TestClient(app);
    const failed = transact(async (client) => {
      await client.query("INSERT INTO orders VALUES ('lost', 'tea')");
      await orders.publish({ id: "lost", item: "tea" }, { id: "lost", transaction: client });
      const { rows: [{ pid }] } = await client.query("SELECT pg_backend_pid() AS pid");
      const ended = new Promise((resolve) => client.once("end", resolve));
      await server.query(`SELECT pg_terminate_backend(${pid})`);
      await ended;
      throw new Error("Another service failed");
    });
    await assertRejects(() => failed, Error, "Another service failed");
    assertEquals((await client.post("/orders", { json: ORDER })).status, 201);
    await using reader = orders.subscribe({ from: "earliest" });
    assertEquals(await takeData(reader, 1), [ORDER]);
    assertEquals(await server.query("SELECT id FROM orders"), ["1"]);
  });

  Deno.test("the adapters of the guide publish in transactions of Kysely and Drizzle, and in no others", async () => {
    await using guide = await Guide.open();
    await using server = await start();
    const { inKysely } = await load<Adapters>(guide, "kysely.ts");
    const { inDrizzle } = await load<Adapters>(guide, "drizzle.ts");
    const app = new App({ topics: server.url });
    const topic = app.topic<string>("orders", { durable: true });
    await app.start();
    const pool = new pg.Pool({ connectionString: server.url });
    const kysely = new Kysely<{ orders: typeof ORDER }>({ dialect: new PostgresDialect({ pool }) });
    const publishers = {
      Kysely: (data: string, end: () => void) =>
        kysely.transaction().execute(async (trx) => {
          await topic.publish(data, { transaction: inKysely(trx) });
          end();
        }),
      Drizzle: (data: string, end: () => void) =>
        drizzle(pool).transaction(async (tx) => {
          await topic.publish(data, { transaction: inDrizzle(tx) });
          end();
        }),
    };
    const undo = () => {
      throw new Error("undone");
    };
    for (const [name, publish] of Object.entries(publishers)) {
      await assertRejects(() => publish(`undone by ${name}`, undo), Error, "undone");
      await publish(name, () => {});
    }
    await topic.publish("end");
    await using reader = topic.subscribe({ from: "earliest" });
    assertEquals(await takeData(reader, 3), ["Kysely", "Drizzle", "end"]);
    await Promise.all([pool.end(), app.stop()]);
  });
}
