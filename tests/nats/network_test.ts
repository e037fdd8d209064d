// One client whose wire to the server is stalled, lossy or cut.

import { assertEquals } from "@std/assert";
import { append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { Relay } from "../support/relay.ts";
import { Stores } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

function test(title: string, body: (stores: Stores, relay: Relay, server: NatsServer) => Promise<void>): void {
  Deno.test({
    name: `A wire to a NATS server: ${title}`,
    ignore: !hasNats,
    fn: async () => {
      await using server = await NatsServer.start();
      using relay = new Relay(server.port);
      await using stores = new Stores(relay.url);
      await body(stores, relay, server);
    },
  });
}

test("a connection that takes no more bytes is given up, and another one is made", async (stores, relay) => {
  const store = stores.open();
  const logs = Array.from({ length: 40 }, (_, index) => logOf(`log ${index}`, { bytes: 2e6 }));
  for (const log of logs) await append(store, log, [messageOf(0)]);
  const before = relay.connections;
  relay.stallOpen();
  // More than the buffers of the sockets take.
  const text = "x".repeat(50_000);
  await Promise.all(logs.map((log) => append(store, log, Array.from({ length: 20 }, () => messageOf(text)))));
  assertEquals(relay.connections, before + 1);
  assertEquals(dataOf(await readAll(store, logs[39]!)), [0, ...Array.from({ length: 20 }, () => text)]);
});
