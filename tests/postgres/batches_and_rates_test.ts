// Consumers with batches and rates, on a server of PostgreSQL: section 3 of the contract of stores.

import { testConsumerBatches } from "../contract/consumer_batches.ts";
import { testConsumerRates } from "../contract/consumer_rates.ts";
import type { WithStore } from "../contract/paused_consumers.ts";
import { hasPostgres, PostgresServer } from "./postgres_server.ts";

const server = hasPostgres ? await PostgresServer.start() : undefined;
Deno.test.afterAll(() => server?.[Symbol.asyncDispose]());

const withStore: WithStore = async (body) => {
  const schema = `test_${crypto.randomUUID().slice(0, 8)}`;
  await body({ url: server!.url, schema });
  await server!.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
};

testConsumerBatches("on PostgreSQL", withStore, !hasPostgres);
testConsumerRates("on PostgreSQL", withStore, !hasPostgres);
