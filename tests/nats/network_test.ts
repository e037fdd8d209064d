// One client whose wire to the server is stalled, lossy or cut.

import { assert, assertEquals } from "@std/assert";
import { append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { endWithoutWire, LOST } from "../contract/lost_wire.ts";
import { Relay } from "../support/relay.ts";
import { Stores } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";
import { until } from "../support/wait.ts";

const LOG = logOf("orders");

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

test("a watch that begins while the wire is cut has one subscription afterwards", async (stores, relay, server) => {
  const [store, other] = [stores.open(), new Stores(server.url, stores.prefix)];
  await using _others = other;
  await append(store, LOG, [messageOf(1)]);
  relay.set("cut");
  let calls = 0;
  let { promise: called, resolve } = Promise.withResolvers<void>();
  const unwatch = store.watch(LOG, () => {
    calls++;
    resolve();
  });
  await until("some attempts have failed", () => relay.refused >= 20);
  relay.set("whole");
  await called;
  const publisher = other.open();
  calls = 0;
  for (let data = 0; data < 20; data++) {
    ({ promise: called, resolve } = Promise.withResolvers<void>());
    await append(publisher, LOG, [messageOf(data)]);
    await called;
  }
  // One for each message, and one for each second.
  assert(calls < 40, `There were ${calls} calls for 20 messages`);
  unwatch();
});

for (const state of LOST) {
  test(
    `a store whose wire is ${state} ends within the time of a request, and what waits for it fails`,
    (stores, relay) => endWithoutWire(stores.open(), relay, state),
  );
}
