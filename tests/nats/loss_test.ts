// Streams that were lost or set back, and replies that were lost.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { LOG_START, type TopicStore } from "../../src/store/topic_store.ts";
import { takeData } from "../contract/reading.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { Relay } from "../support/relay.ts";
import { Stores } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

const LOG = logOf("orders");

function test(
  title: string,
  body: (one: TopicStore, other: TopicStore, server: NatsServer, prefix: string) => Promise<void>,
): void {
  Deno.test({
    name: `A NATS server: ${title}`,
    ignore: !hasNats,
    fn: async () => {
      await using server = await NatsServer.start();
      await using stores = new Stores(server.url);
      await body(stores.open(), stores.open(), server, stores.prefix);
    },
  });
}

test("a log that was lost has another incarnation, for those who knew it, too", async (one, other, server) => {
  const { incarnation } = await append(one, LOG, [1, 2, 3].map((data) => messageOf(data)));
  assertEquals((await other.bounds(LOG)).incarnation, incarnation);
  await server.kill();
  await server.loseData();
  await server.startAgain();
  const again = await append(one, LOG, [4, 5, 6, 7].map((data) => messageOf(data)));
  assertNotEquals(again.incarnation, incarnation);
  const page = await other.read(LOG, LOG_START, ALL);
  assertEquals([page.incarnation, dataOf(page.messages)], [again.incarnation, [4, 5, 6, 7]]);
});

test("a log that was set back has another incarnation when somebody publishes", async (one, other, server) => {
  const { incarnation } = await append(one, LOG, [messageOf(1)]);
  await server.kill();
  const restore = await server.backUp();
  await server.startAgain();
  await append(one, LOG, [2, 3].map((data) => messageOf(data)));
  await server.kill();
  await restore();
  await server.startAgain();
  const again = await append(one, LOG, [messageOf(4)]);
  assertNotEquals(again.incarnation, incarnation);
  const page = await other.read(LOG, LOG_START, ALL);
  assertEquals([page.incarnation, dataOf(page.messages)], [again.incarnation, [1, 4]]);
  // What was remembered of the other incarnation does no harm.
  assertEquals((await append(other, LOG, [messageOf(5)])).incarnation, again.incarnation);
  assertEquals(dataOf(await readAll(one, LOG)), [1, 4, 5]);
});

test(
  "a log that was set back has another incarnation also if the first answer to that is lost",
  async (_one, other, server, prefix) => {
    using relay = new Relay(server.port);
    await using far = new Stores(relay.url, prefix);
    const store = far.open();
    const { incarnation } = await append(store, LOG, [messageOf(1)]);
    await server.kill();
    const restore = await server.backUp();
    await server.startAgain();
    await append(store, LOG, [2, 3].map((data) => messageOf(data)));
    await server.kill();
    await restore();
    await server.startAgain();
    let lost = 0;
    relay.rewrite = (bytes) => {
      if (lost > 0 || !new TextDecoder("latin1").decode(bytes).includes("stream_update_response")) return bytes;
      lost++;
      return bytes.subarray(0, 0);
    };
    const again = await append(store, LOG, [messageOf(4)]);
    assertEquals(lost, 1);
    assertNotEquals(again.incarnation, incarnation);
    assertEquals(again.outcomes.map(({ duplicate }) => duplicate), [false]);
    const page = await other.read(LOG, LOG_START, ALL);
    assertEquals([page.incarnation, dataOf(page.messages)], [again.incarnation, [1, 4]]);
  },
);

test("a reader is told of a log that was set back although nobody publishes", async (one, _other, server) => {
  const app = new App({ topics: one });
  const topic = app.topic<number>("orders", { durable: true, retention: { bytes: 1e6 } });
  await topic.publish(1);
  await server.kill();
  const restore = await server.backUp();
  await server.startAgain();
  for (const data of [2, 3]) await topic.publish(data);
  const subscription = topic.subscribe({ from: "earliest" });
  assertEquals(await takeData(subscription, 3), [1, 2, 3]);
  await server.kill();
  await restore();
  await server.startAgain();
  const { value } = await subscription.next();
  assert(value && "gap" in value);
  assertEquals(value.gap.reason, "epoch");
  assertEquals(await takeData(subscription, 1), [1]);
  await app.stop();
});

test("records that were lost do not have earlier versions again", async (one, other, server) => {
  const [records, others] = await Promise.all([one.openRecords!(), other.openRecords!()]);
  const versions = new Set<string>();
  for (let number = 0; number < 5; number++) versions.add((await records.set(["a"], `${number}`, {}))!);
  await server.kill();
  await server.loseData();
  await server.startAgain();
  assertEquals(await records.get(["a"]), null);
  for (let number = 0; number < 10; number++) versions.add((await others.set(["a"], `${number}`, {}))!);
  assertEquals(versions.size, 15);
});

test(
  "a server that is frozen, or restarted within appends, has each message once and in order",
  async (one, other, server) => {
    const log = logOf("restarted", { bytes: 1e8 });
    let isOver = false;
    const acknowledged: number[] = [];
    const session = crypto.randomUUID();
    const publishing = (async () => {
      for (let sequence = 0; !isOver; sequence += 3) {
        const batch = [0, 1, 2].map((index) =>
          messageOf(sequence + index, sequence % 2 ? `id ${sequence + index}` : undefined)
        );
        const { outcomes } = await append(one, log, batch, { session, sequence });
        assert(outcomes.every(({ duplicate }) => !duplicate), "An own message was taken for a duplicate");
        acknowledged.push(sequence, sequence + 1, sequence + 2);
      }
    })();
    for (let round = 0; round < 3; round++) {
      const reached = acknowledged.length + 300;
      while (acknowledged.length < reached) await append(other, logOf("others"), [messageOf(round)]);
      if (round === 0) {
        server.freeze();
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        server.thaw();
      } else {
        await server.kill();
        await server.startAgain();
      }
    }
    isOver = true;
    await publishing;
    assertEquals(dataOf(await readAll(other, log)), acknowledged);
  },
);

test(
  "a server that refuses its clients for a while, and takes them again, has all messages",
  async (one, other, server) => {
    await append(one, LOG, [messageOf(1)]);
    const { promise: called, resolve } = Promise.withResolvers<void>();
    let isBack = false;
    const unwatch = other.watch(LOG, () => isBack && resolve());
    await server.kill();
    await server.configure('authorization { token: "a token of a test" }');
    await server.startAgain();
    // It is tried again meanwhile.
    const appended = append(one, LOG, [messageOf(2)]);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await server.kill();
    await server.configure("");
    await server.startAgain();
    await appended;
    assertEquals(dataOf(await readAll(other, LOG)), [1, 2]);
    isBack = true;
    await append(one, LOG, [messageOf(3)]);
    await called;
    unwatch();
  },
);

test("a store can be closed while its server is away", async (one, _other, server) => {
  await append(one, LOG, [messageOf(1)]);
  const { promise: watched, resolve } = Promise.withResolvers<void>();
  const unwatch = one.watch(LOG, resolve);
  await watched;
  await server.kill();
  const reading = assertRejects(() => one.read(LOG, LOG_START, ALL), Error, "closed");
  await one.close();
  await reading;
  unwatch();
});

test("records that were set back do not have the versions of later writes again", async (one, other, server) => {
  const [records, others] = await Promise.all([one.openRecords!(), other.openRecords!()]);
  await records.set(["a"], "1", {});
  await server.kill();
  const restore = await server.backUp();
  await server.startAgain();
  const version = await records.set(["a"], "2", {});
  await server.kill();
  await restore();
  await server.startAgain();
  const next = await others.set(["a"], "3", {});
  assertNotEquals(next, version);
  assertEquals(await records.set(["a"], "4", { expect: version }), null);
  assertEquals(await records.delete(["a"], { expect: version! }), false);
  assertEquals(await records.get(["a"]), { value: "3", version: next! });
  assert(await records.set(["a"], "4", { expect: next }));
});
