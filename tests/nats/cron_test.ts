// Crons over a NATS server.

import { cutOffRun, testCron } from "../contract/cron.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Relay } from "../support/relay.ts";
import { Stores, storesOver } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

if (hasNats) {
  const server = await NatsServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  testCron(storesOver("a NATS server", () => server));

  Deno.test("Crons over a NATS server: a node that is cut off aborts its run before another one takes it", async () => {
    using _log = new CapturedLog();
    using relay = new Relay(server.port);
    await using far = new Stores(relay.url, "cut-off");
    await using near = new Stores(server.url, "cut-off");
    await cutOffRun(await far.open().openRecords!(), await near.open().openRecords!(), relay);
  });
} else Deno.test.ignore('Crons over a NATS server: there is none, run "deno task nats:install"', () => {});
