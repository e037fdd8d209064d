// A server of PostgreSQL that is killed, frozen or cut off.

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { LOG_START } from "../../src/store/topic_store.ts";
import { takeData } from "../contract/reading.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { endWithoutWire, LOST } from "../contract/lost_wire.ts";
import { Relay } from "../support/relay.ts";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";
import { Stores } from "./postgres_store.ts";

const LOG = logOf("orders");

interface Setting {
  readonly server: PostgresServer;
  /** The wire of these stores. */
  readonly relay: Relay;
  readonly stores: Stores;
  /** Stores over the same tables, which have a wire of their own. */
  readonly others: Stores;
}

function test(title: string, body: (setting: Setting) => Promise<void>): void {
  Deno.test(`A wire to PostgreSQL: ${title}`, async () => {
    using _log = new CapturedLog();
    await using server = await PostgresServer.start();
    using relay = new Relay(server.port);
    await using others = new Stores(server);
    await using stores = new Stores(server, {
      url: `postgres://postgres@127.0.0.1:${relay.port}/postgres`,
      schema: others.schema,
    });
    await body({ server, relay, stores, others });
  });
}

if (!hasPostgres) Deno.test.ignore(`A wire to PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  test("a server that is killed under load loses nothing, and stores nothing twice", async ({ server }) => {
    const apps = [0, 1].map(() => new App({ topics: server.url }));
    const topics = apps.map((app) => app.topic<string>("orders", { durable: true }));
    let isEnding = false;
    const acknowledged: string[] = [];
    const publishers = Array.from({ length: 6 }, async (_, publisher) => {
      for (let n = 0; !isEnding; n++) {
        const id = `${publisher} ${n}`;
        assertEquals((await topics[publisher % 2]!.publish(id, n % 2 === 0 ? { id } : {})).duplicate, false);
        acknowledged.push(id);
      }
    });
    for (let kills = 1; kills <= 3; kills++) {
      const before = acknowledged.length;
      await until("more is published", () => acknowledged.length > before + 50);
      await server.kill();
      await server.startAgain();
    }
    isEnding = true;
    await Promise.all(publishers);
    const seen = await takeData(topics[1]!.subscribe({ from: "earliest" }), acknowledged.length);
    assertEquals(seen.toSorted(), acknowledged.toSorted());
    await Promise.all(apps.map((app) => app.stop()));
  });

  test("a frozen server is waited for, and the message is stored once", async ({ server, stores, others }) => {
    const [store, other] = [stores.open(), others.open()];
    await append(store, LOG, [messageOf(1)]);
    await other.bounds(LOG);
    server.freeze();
    const appending = append(store, LOG, [messageOf(2, "a")]);
    const reading = other.read(LOG, LOG_START, ALL);
    // Longer than a request may take.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    server.thaw();
    assertEquals((await appending).outcomes.map(({ duplicate }) => duplicate).length, 1);
    await reading;
    assertEquals(dataOf(await readAll(other, LOG)), [1, 2]);
  });

  test("an application stops within its time beside a frozen server", async ({ server }) => {
    const app = new App({ topics: server.url });
    const topic = app.topic<number>("orders", { durable: true });
    await app.start();
    await topic.publish(1);
    const reading = topic.subscribe().next();
    server.freeze();
    const begin = performance.now();
    await app.stop();
    const time = performance.now() - begin;
    server.thaw();
    assertEquals((await reading).done, true);
    assert(time < 10_000, `It took ${time} ms`);
  });

  for (const state of LOST) {
    test(
      `a store whose wire is ${state} ends within the time of a request, and what waits for it fails`,
      ({ stores, relay }) => endWithoutWire(stores.open(), relay, state),
    );
  }

  test("a store listens again after its connections were cut, and hears of each message", async (setting) => {
    const { stores, others, relay, server } = setting;
    const [store, publisher] = [stores.open(), others.open()];
    await append(publisher, LOG, [messageOf(0)]);
    let called = Promise.withResolvers<void>();
    const unwatch = store.watch(LOG, () => called.resolve());
    let listener: string | undefined;
    for (let round = 0; round < 3; round++) {
      await until("another connection listens", async () => {
        const [pid] = await server.query("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
        const isAnother = pid !== undefined && pid !== listener;
        if (isAnother) listener = pid;
        return isAnother;
      });
      called = Promise.withResolvers();
      await append(publisher, LOG, [messageOf(round)]);
      await called.promise;
      relay.cutOpen();
    }
    unwatch();
  });
}
