// Consumers that operators change, on a server of PostgreSQL: section 3 of the contract of stores.

import { testPausedConsumers, type WithStore } from "../contract/paused_consumers.ts";
import { testRedrivenLetters } from "../contract/redriven_letters.ts";
import { hasPostgres, PostgresServer } from "./postgres_server.ts";

const server = hasPostgres ? await PostgresServer.start() : undefined;
Deno.test.afterAll(() => server?.[Symbol.asyncDispose]());

const withSchema: WithStore = async (body) => {
  const schema = `test_${crypto.randomUUID().slice(0, 8)}`;
  await body({ url: server!.url, schema });
  await server!.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
};

testPausedConsumers("on PostgreSQL", withSchema, !hasPostgres);
testRedrivenLetters("on PostgreSQL", withSchema, !hasPostgres);
