// A standby that takes over from the server that has died.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { pgPackage } from "../../src/store/sql/pg_client.ts";
import { takeData } from "../contract/reading.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Relay } from "../support/relay.ts";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

const TITLE = "A failover of PostgreSQL to a synchronous standby";
if (!hasPostgres) Deno.test.ignore(`${TITLE}: ${POSTGRES_MISSING}`, () => {});
else {
  Deno.test(`${TITLE} loses nothing, and stores nothing twice`, async () => {
    using _log = new CapturedLog();
    await using server = await PostgresServer.start();
    await using standby = await server.startStandby();
    // The address stays, as that of a cluster does.
    using relay = new Relay(server.port);
    const url = `postgres://postgres@127.0.0.1:${relay.port}/postgres`;
    const { Client } = await pgPackage.use();

    const apps = [0, 1].map(() => new App({ topics: url }));
    const topics = apps.map((app) => app.topic<string>("orders", { durable: true }));
    const handled = new Set<string>();
    for (const topic of topics) topic.consume("mail", { from: "earliest" }, ({ data }) => void handled.add(data));
    await Promise.all(apps.map((app) => app.start()));
    await server.query("CREATE TABLE orders (id text PRIMARY KEY)");
    const subscription = topics[1]!.subscribe({ from: "earliest" });

    const acknowledged: string[] = [];
    let isEnding = false;
    const publishers = Array.from({ length: 4 }, async (_, publisher) => {
      for (let n = 0; !isEnding; n++) {
        const id = `${publisher} ${n}`;
        assertEquals((await topics[publisher % 2]!.publish(id, n % 2 === 0 ? { id } : {})).duplicate, false);
        acknowledged.push(id);
      }
    });
    /** A row and its message, once. The outcome of a commit that is cut off is unknown. */
    const order = async (id: string): Promise<void> => {
      const client = new Client({ connectionString: url });
      client.on("error", () => {});
      try {
        await client.connect();
        await client.query("BEGIN");
        await client.query({ text: "INSERT INTO orders VALUES ($1)", values: [id] });
        await topics[0]!.publish(id, { id, transaction: client });
        await client.query("COMMIT");
      } finally {
        await client.end().catch(() => {});
      }
    };
    const customers = Array.from({ length: 2 }, async (_, customer) => {
      for (let n = 0; !isEnding; n++) await order(`order ${customer} ${n}`).catch(() => {});
    });

    await until("some are published", () => acknowledged.length > 100);
    await server.kill();
    relay.cutOpen();
    await standby.query("SELECT pg_promote()");
    relay.target = standby.port;
    relay.cutOpen();
    const before = acknowledged.length;
    await until("more are published", () => acknowledged.length > before + 100);
    isEnding = true;
    await Promise.all([...publishers, ...customers]);

    const expected = [...acknowledged, ...await standby.query("SELECT id FROM orders")].toSorted();
    assertEquals((await takeData(subscription, expected.length)).toSorted(), expected);
    await until("all are handled", () => handled.size === expected.length);
    await Promise.all(apps.map((app) => app.stop()));
  });
}
