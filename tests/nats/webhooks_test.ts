// Webhooks over a NATS server.

import { testWebhookNodes } from "../contract/webhooks.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

if (hasNats) {
  testWebhookNodes("a NATS server", async () => {
    const server = await NatsServer.start();
    return { topics: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  });
} else Deno.test.ignore('Webhooks over a NATS server: there is none, run "deno task nats:install"', () => {});
