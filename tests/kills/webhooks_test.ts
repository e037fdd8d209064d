// Webhooks over servers, by nodes that are killed while they deliver.

import { testWebhookNodes } from "../contract/webhooks.ts";
import { hasNats, NatsServer } from "../nats/nats_server.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "../postgres/postgres_server.ts";

const over = async (starting: Promise<AsyncDisposable & { readonly url: string }>) => {
  const server = await starting;
  return { topics: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
};

if (hasPostgres) testWebhookNodes("PostgreSQL", () => over(PostgresServer.start()));
else Deno.test.ignore(`Webhooks over PostgreSQL: ${POSTGRES_MISSING}`, () => {});
if (hasNats) testWebhookNodes("a NATS server", () => over(NatsServer.start()));
else Deno.test.ignore('Webhooks over a NATS server: there is none, run "deno task nats:install"', () => {});
