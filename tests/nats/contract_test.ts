// The suites for stores, over a real NATS server with JetStream.

import { testScheduled } from "../contract/scheduled.ts";
import { testStore } from "../contract/store_suites.ts";
import { storesOver } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

if (hasNats) {
  const server = await NatsServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const kind = storesOver("a NATS server", () => server);
  testStore(kind);
  testScheduled(kind);
} else Deno.test.ignore('Topics over a NATS server: there is none, run "deno task nats:install"', () => {});
