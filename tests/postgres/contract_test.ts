// The suites for stores, over a real server of PostgreSQL.

import { testCron } from "../contract/cron.ts";
import { testScheduled } from "../contract/scheduled.ts";
import { testStore } from "../contract/store_suites.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";
import { storesOver } from "./postgres_store.ts";

if (hasPostgres) {
  const server = await PostgresServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const kind = storesOver("PostgreSQL", () => server);
  testStore(kind);
  testCron(kind);
  testScheduled(kind);
} else Deno.test.ignore(`Topics over PostgreSQL: ${POSTGRES_MISSING}`, () => {});
