// Stores, section 2: "The message is there exactly if the transaction commits […], also where the
// publishing process dies after it." Processes are killed in the middle of their transactions.

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "../postgres/postgres_server.ts";

const TRANSACTIONS = 2_000;
const PROCESSES = 3;

/** Adds rows, each with its message, one in four of which is undone, until it is killed. */
const PUBLISHER = `
import { App } from ${JSON.stringify(CORE)};
import pg from "npm:pg@8.23.1";
const url = Deno.env.get("URL")!;
const app = new App({ topics: url });
const topic = app.topic<string>("orders", { durable: true });
await app.start();
const pool = new pg.Pool({ connectionString: url, max: 4 });
let count = 0;
await Promise.all([0, 1, 2, 3].map(async () => {
  for (;;) {
    const id = crypto.randomUUID();
    const client = await pool.connect();
    await client.query("BEGIN");
    await client.query("INSERT INTO orders VALUES ($1)", [id]);
    await topic.publish(id, { id, transaction: client });
    const end = Math.random() < 0.25 ? "ROLLBACK" : "COMMIT";
    await client.query(end);
    client.release();
    if (end === "COMMIT" && ++count === 100) console.log("busy");
  }
}));`;

if (!hasPostgres) Deno.test.ignore(`Killed publishers on PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  Deno.test("of 2,000 transactions in processes that are killed, each row has its message, and no message is doubled", async () => {
    await using server = await PostgresServer.start();
    await server.query("CREATE TABLE orders (id text)");
    const reader = new App({ topics: server.url });
    const topic = reader.topic<string>("orders", { durable: true });
    await reader.start();
    // It reads while they publish.
    const subscription = topic.subscribe({ from: "earliest" });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const entry of subscription) {
        assert("data" in entry);
        if (entry.data === "end") return;
        seen.push(entry.data);
      }
    })();
    let kills = 0;
    const committed = async () => Number((await server.query("SELECT count(*) FROM orders"))[0]);
    while (await committed() < TRANSACTIONS) {
      const start = () => ChildProgram.start(PUBLISHER, { env: { URL: server.url } });
      const publishers = await Promise.all(Array.from({ length: PROCESSES }, start));
      for (const publisher of publishers) {
        await publisher.printed("busy");
        publisher.signal("SIGKILL");
        kills++;
      }
      for (const publisher of publishers) await publisher[Symbol.asyncDispose]();
    }
    // The server ends a transaction when it notices that its client has died.
    const open = "SELECT 1 FROM pg_stat_activity WHERE xact_start IS NOT NULL AND query LIKE '%orders%'" +
      " AND pid <> pg_backend_pid()";
    await until("no transaction is open", async () => (await server.query(open)).length === 0);
    await topic.publish("end");
    await reading;
    const rows = await server.query("SELECT id FROM orders");
    assertEquals(seen.length, new Set(seen).size);
    assertEquals(seen.toSorted(), rows.toSorted());
    await reader.stop();
    console.log(`${kills} processes were killed, ${rows.length} transactions have committed`);
  });
}
