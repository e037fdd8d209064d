// Three NATS servers, of which one at a time is killed and started again under load.

import { assert, assertEquals } from "@std/assert";
import { type Cursor, LOG_START, type TopicStore } from "../../src/store/topic_store.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { Admin } from "../nats/admin.ts";
import { Relay } from "../support/relay.ts";
import { Stores } from "../nats/jetstream_store.ts";
import { hasNats, type NatsCluster, NatsServer } from "../nats/nats_server.ts";

const LOG = logOf("orders", { bytes: 1e8 });

function test(
  title: string,
  body: (stores: TopicStore[], cluster: NatsCluster, prefix: string) => Promise<void>,
): void {
  Deno.test({
    name: `Three NATS servers: ${title}`,
    ignore: !hasNats,
    fn: async () => {
      await using cluster = await NatsServer.startCluster();
      await using stores = new Stores(cluster.url);
      await body([stores.open(), stores.open(), stores.open()], cluster, stores.prefix);
    },
  });
}

/** Kills each server in turn, and starts it again after some progress. */
async function killEach({ servers }: NatsCluster, progress: () => number): Promise<void> {
  for (const server of servers) {
    await grow(progress, 200);
    await server.kill();
    await grow(progress, 200);
    await server.startAgain();
  }
  await grow(progress, 200);
}

/** Kills all servers at once, and starts them again. */
async function restartAll({ servers }: NatsCluster, progress: () => number): Promise<void> {
  await grow(progress, 200);
  await Promise.all(servers.map((server) => server.kill()));
  await Promise.all(servers.map((server) => server.startAgain()));
  await grow(progress, 200);
}

/** Suspends each server in turn until the others have gone on. */
async function freezeEach({ servers }: NatsCluster, progress: () => number): Promise<void> {
  for (const server of servers) {
    await grow(progress, 200);
    server.freeze();
    await grow(progress, 200);
    server.thaw();
  }
  await grow(progress, 200);
}

/** Has the stream change its leader again and again, in the middle of batches. */
async function changeLeaders(admin: Admin, prefix: string, progress: () => number): Promise<void> {
  for (let changes = 0; changes < 12;) {
    await grow(progress, 60);
    try {
      await admin.call(`STREAM.LEADER.STEPDOWN.${prefix}_topic_orders`);
      changes++;
    } catch {
      // There is no leader at present.
    }
  }
  await grow(progress, 200);
}

/** Waits for progress. */
async function grow(progress: () => number, by: number): Promise<void> {
  const end = progress() + by;
  while (progress() < end) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Publishes and reads while something happens to the servers, and checks what was read. */
async function publishDuring(
  stores: readonly TopicStore[],
  disturb: (progress: () => number) => Promise<void>,
): Promise<void> {
  const acknowledged = new Map<string, Cursor>();
  let isOver = false;
  await stores[0]!.bounds(LOG);

  /** Reads on with each hint, as the readers of topics do. */
  const follow = (store: TopicStore) => {
    const seen: { text: unknown; cursor: Cursor }[] = [];
    let [position, gaps, hints] = [LOG_START, 0, 0];
    let reading: Promise<void> | undefined;
    const read = async (): Promise<void> => {
      for (let before = -1; before !== hints;) {
        before = hints;
        for (;;) {
          const page = await store.read(LOG, position, ALL);
          if (page.lowWatermark > position) gaps++;
          if (page.messages.length === 0) break;
          seen.push(...page.messages.map(({ data, cursor }) => ({ text: JSON.parse(data), cursor })));
          position = page.messages.at(-1)!.cursor;
        }
      }
      reading = undefined;
    };
    const unwatch = store.watch(LOG, () => {
      hints++;
      reading ??= read();
    });
    const end = async (): Promise<void> => {
      // A hint would begin a second read beside the last one.
      unwatch();
      await reading;
      await read();
    };
    return { seen, gaps: () => gaps, end };
  };
  const followers = stores.slice(0, 2).map(follow);

  const publishers = [0, 1, 2, 3].map(async (publisher) => {
    const session = crypto.randomUUID();
    for (let sequence = 0; !isOver;) {
      const size = publisher < 2 ? 1 : 5;
      const texts = Array.from({ length: size }, (_, index) => `${publisher}-${sequence + index}`);
      const messages = texts.map((text, index) => messageOf(text, index === 2 ? text : undefined));
      const { outcomes } = await append(stores[publisher % 3]!, LOG, messages, { session, sequence });
      for (const [index, { cursor, duplicate }] of outcomes.entries()) {
        assert(!duplicate, `${texts[index]} was told to be a duplicate`);
        acknowledged.set(texts[index]!, cursor);
      }
      sequence += size;
    }
  });
  await disturb(() => acknowledged.size);
  isOver = true;
  await Promise.all(publishers);

  const expected = [...acknowledged].sort(([, a], [, b]) => a < b ? -1 : 1).map(([text, cursor]) => ({
    text,
    cursor,
  }));
  for (const follower of followers) {
    await follower.end();
    assertEquals(follower.gaps(), 0);
    assertEquals(follower.seen, expected);
  }
  for (const publisher of [0, 1, 2, 3]) {
    const own = expected.map(({ text }) => text.split("-").map(Number)).filter(([number]) => number === publisher);
    assertEquals(own.map(([, number]) => number), own.map((_, index) => index));
  }
  assertEquals(dataOf(await readAll(stores[2]!, LOG)), expected.map(({ text }) => text));
}

test(
  '"`replicas` is 3 where three servers or more are named": of logs and of records',
  async (stores, cluster, prefix) => {
    const [store] = stores;
    await append(store!, LOG, [messageOf(1)]);
    await (await store!.openRecords!()).set(["a"], "1", {});
    await using admin = await Admin.open(cluster.url);
    for (const stream of [`${prefix}_topic_orders`, `KV_${prefix}-records`]) {
      const { config } = await admin.call<{ config: { num_replicas: number } }>(`STREAM.INFO.${stream}`);
      assertEquals(config.num_replicas, 3, stream);
    }
  },
);

test(
  '"A server that is killed is ridden out; what was acknowledged is there", once and in order',
  async (stores, cluster) => {
    assertEquals(stores[0]!.capabilities.durability, "quorum");
    await publishDuring(stores, (progress) => killEach(cluster, progress));
  },
);

test(
  "all are restarted at once, and what was acknowledged is there, once and in order",
  (stores, cluster) => publishDuring(stores, (progress) => restartAll(cluster, progress)),
);

test(
  "each is frozen for a while, and what was acknowledged is there, once and in order",
  (stores, cluster) => publishDuring(stores, (progress) => freezeEach(cluster, progress)),
);

test(
  "its leader changes again and again, and what was acknowledged is there, once and in order",
  async (stores, cluster, prefix) => {
    await using admin = await Admin.open(cluster.url);
    await publishDuring(stores, (progress) => changeLeaders(admin, prefix, progress));
  },
);

test("records that all change with expect lose no change while servers are killed", async (stores, cluster) => {
  const records = await Promise.all(stores.map((store) => store.openRecords!()));
  let [isOver, done] = [false, 0];
  const counting = records.map(async (store, node) => {
    let own = 0;
    for (let isRefused = false; !isOver || isRefused;) {
      const entry = await store.get(["count"]);
      const counts: number[] = entry ? JSON.parse(entry.value) : [0, 0, 0];
      counts[node]!++;
      const version = await store.set(["count"], JSON.stringify(counts), { expect: entry?.version ?? null });
      // One that is refused may have been stored, where its answer was lost. The next one tells.
      isRefused = version === null;
      if (isRefused) continue;
      done++;
      own = Math.max(own + 1, counts[node]!);
      assertEquals(counts[node], own, "A change was lost, or a version was given twice");
    }
    return own;
  });
  await killEach(cluster, () => done);
  isOver = true;
  const own = await Promise.all(counting);
  assertEquals(JSON.parse((await records[0]!.get(["count"]))!.value), own);
});

Deno.test({
  name: "Three NATS servers: the answer of one that is behind the others takes nothing back",
  ignore: !hasNats,
  fn: async () => {
    await using cluster = await NatsServer.startCluster();
    using relay = new Relay(cluster.servers[0]!.port);
    await using stores = new Stores([relay.url, relay.url, relay.url].join(","));
    const store = stores.open();
    const { outcomes } = await append(store, LOG, Array.from({ length: 12 }, (_, index) => messageOf(index)));
    const end = outcomes[11]!.cursor;
    let wrong = 0;
    // A server that was suspended takes itself for the leader until it hears of another one.
    relay.rewrite = (bytes) => {
      const text = new TextDecoder("latin1").decode(bytes);
      if (wrong === 3 || !text.includes('"last_seq":12')) return bytes;
      wrong++;
      return Uint8Array.from(text.replace('"last_seq":12', '"last_seq": 7'), (character) => character.charCodeAt(0));
    };
    assertEquals((await store.bounds(LOG)).highWatermark, end);
    assertEquals(wrong, 3);
    wrong = 0;
    assertEquals((await store.read(LOG, end, ALL)).highWatermark, end);
    assertEquals(wrong, 3);
  },
});
