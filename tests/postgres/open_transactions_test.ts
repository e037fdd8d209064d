// "It reaches a subscriber of another process within 50 ms (p99) of the commit": the process that
// publishes follows its transaction until it has ended.

import { assertEquals } from "@std/assert";
import { type PostgresLocation, toLocation } from "../../src/store/location.ts";
import type { SqlConnection, SqlEngine } from "../../src/store/sql/engine.ts";
import type { LogAppender } from "../../src/store/sql/log_appender.ts";
import { postgresOpener } from "../../src/store/sql/open_postgres.ts";
import { OpenTransactions } from "../../src/store/sql/open_transactions.ts";
import { tablesOf } from "../../src/store/sql/schema.ts";
import { logOf } from "../contract/store_fixture.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

if (!hasPostgres) Deno.test.ignore(`Open transactions of PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  Deno.test("a transaction is followed until it ends, also if no other one has ended since its begin", async () => {
    // A program of the server would be another transaction.
    await using server = await PostgresServer.start({ settings: ["autovacuum=off"] });
    const engine = await postgresOpener(toLocation(server.url) as PostgresLocation)(new AbortController().signal);
    await engine.query("CREATE TABLE public.orders (id int)");
    const looked = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    let looks = 0;
    const query: SqlEngine["query"] = async (text, parameters) => {
      const rows = await engine.query(text, parameters);
      looked[looks++]?.resolve();
      return rows;
    };
    const sealed = Promise.withResolvers<string>();
    const events: string[] = [];
    const transactions = new OpenTransactions({
      connection: { use: (action) => action({ ...engine, query } as SqlEngine) } as SqlConnection,
      tables: tablesOf("postgres"),
      appender: {
        seal: async (name) => {
          events.push("sealed");
          sealed.resolve(name);
        },
      } as LogAppender,
    });
    await engine.transaction(async (query) => {
      await query("INSERT INTO public.orders VALUES (1)");
      const [row] = await query("SELECT pg_current_xact_id()::text AS id");
      transactions.note(String(row!.id), logOf("orders"));
      for (const { promise } of looked) await promise;
      events.push("commits");
    });
    assertEquals(await sealed.promise, "orders");
    assertEquals(events, ["commits", "sealed"]);
    await transactions.close();
    await engine.closed();
  });
}
