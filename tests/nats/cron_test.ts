// Crons over a NATS server.

import { assert, assertEquals } from "@std/assert";
import { CronNode, quickClock, testCron } from "../contract/cron.ts";
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
    const clock = quickClock();
    const begun = Promise.withResolvers<AbortSignal>();
    const first = new CronNode(await far.open().openRecords!(), clock, async ({ signal }) => {
      const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      begun.resolve(signal);
      await aborted;
    });
    await first.start();
    const signal = await begun.promise;
    const taken = Promise.withResolvers<boolean>();
    const other = new CronNode(await near.open().openRecords!(), clock, () => taken.resolve(signal.aborted));
    await other.start();
    assertEquals(signal.aborted, false);
    relay.set("lossy");
    assert(await taken.promise, "Two nodes run at the same time");
    relay.set("whole");
    await Promise.all([first.stop(), other.stop()]);
  });
} else Deno.test.ignore('Crons over a NATS server: there is none, run "deno task nats:install"', () => {});
