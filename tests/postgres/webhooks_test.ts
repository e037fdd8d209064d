// Webhooks in transactions of PostgreSQL.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import pg from "npm:pg@8.23.1";
import postgres from "npm:postgres@3.4.9";
import * as v from "valibot";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

if (hasPostgres) {
  Deno.test("Webhooks over PostgreSQL: one is sent exactly if its transaction commits", async () => {
    await using server = await PostgresServer.start();
    await server.query("CREATE TABLE orders (id int)");
    const received: number[] = [];
    const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      received.push((await request.json()).order);
      return new Response();
    });
    const url = `http://127.0.0.1:${receiver.addr.port}/hooks`;
    const app = new App({ topics: server.url, webhooks: { allowPrivate: true } });
    const paid = app.webhook("order.paid", { body: v.object({ order: v.number() }) });
    await app.start();
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    for (const [order, end] of [[1, "ROLLBACK"], [2, "COMMIT"]] as const) {
      await client.query("BEGIN");
      await client.query("INSERT INTO orders VALUES ($1)", [order]);
      await paid.send(url, { order }, { secret: SECRET, transaction: client });
      await client.query(end);
    }
    const sql = postgres(server.url, { max: 1, onnotice: () => {} });
    const undone = new Error("undone");
    const undo = sql.begin(async (tx) => {
      await paid.send(url, { order: 3 }, { secret: SECRET, transaction: tx });
      throw undone;
    });
    assertEquals(await undo.catch((error) => error), undone);
    await sql.begin((tx) => paid.send(url, { order: 4 }, { secret: SECRET, transaction: tx }));
    await until("two are received", () => received.length === 2);
    await app.consumers.idle();
    assertEquals(received.toSorted(), [2, 4]);
    await Promise.all([client.end(), sql.end(), receiver.shutdown()]);
    await app.stop();
  });
} else Deno.test.ignore(`Webhooks over PostgreSQL: ${POSTGRES_MISSING}`, () => {});
