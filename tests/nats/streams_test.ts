// Streams and buckets that another program has made, changed or removed.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { LOG_START } from "../../src/store/topic_store.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { Admin } from "./admin.ts";
import { Stores } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

const LOG = logOf("orders");
const STREAM = "webfw_topic_orders";
const KEEP_ALL = { retention: "limits", storage: "file", num_replicas: 1, max_msgs: -1, max_bytes: -1, max_age: 0 };

function test(title: string, body: (server: NatsServer, admin: Admin, stores: Stores) => Promise<void>): void {
  Deno.test({
    name: `Streams of NATS: ${title}`,
    ignore: !hasNats,
    fn: async () => {
      await using server = await NatsServer.start();
      await using admin = await Admin.open(server.url);
      await using stores = new Stores(server.url, "webfw");
      await body(server, admin, stores);
    },
  });
}

test("one that another program has made is left as it is, and named at once", async ({ url }, admin) => {
  await admin.call("STREAM.CREATE.webfw_topic_one", { ...KEEP_ALL, name: "webfw_topic_one", subjects: ["one.>"] });
  await admin.call("STREAM.CREATE.other", { ...KEEP_ALL, name: "other", subjects: ["webfw.log.webfw_topic_two.*"] });
  const bucket = { ...KEEP_ALL, name: "KV_webfw-records", subjects: ["$KV.webfw-records.>"], max_msgs_per_subject: 1 };
  await admin.call("STREAM.CREATE.KV_webfw-records", bucket);
  const app = new App({ topics: url });
  const [one, two] = ["one", "two"].map((name) => app.topic<number>(name, { durable: true }));
  await app.start();
  const another = "give topics another prefix";
  const table: [() => Promise<unknown>, string][] = [
    [
      () => one!.publish(1),
      `Cannot keep the topic "one": another program has made the stream "webfw_topic_one", remove that or ${another}`,
    ],
    [
      () => two!.publish(1),
      'Cannot keep the topic "two": the servers refuse its stream (subjects overlap with an existing stream), ' +
      `change that there, or ${another}`,
    ],
    [
      () => app.records.set(["a"], 1),
      `Cannot keep records in the bucket "webfw-records": another program has made the bucket, remove that or ${another}`,
    ],
  ];
  for (const [action, message] of table) assertEquals((await assertRejects(action, Error)).message, message);
  await app.stop();
  const { config } = await admin.call<{ config: { subjects: string[] } }>("STREAM.INFO.webfw_topic_one");
  assertEquals(config.subjects, ["one.>"]);
});

test("one that is removed under its readers and publishers is another incarnation", async (_server, admin, stores) => {
  const [one, other] = [stores.open(), stores.open()];
  const { incarnation } = await append(one, LOG, [messageOf(1)]);
  assertEquals(dataOf(await readAll(other, LOG)), [1]);
  await admin.call(`STREAM.DELETE.${STREAM}`);
  const page = await other.read(LOG, LOG_START, ALL);
  assertNotEquals(page.incarnation, incarnation);
  assertEquals(page.messages, []);
  const again = await append(one, LOG, [messageOf(2)]);
  assertEquals([again.incarnation, dataOf(await readAll(other, LOG))], [page.incarnation, [2]]);
});

test("one that is purged has a gap for its readers, and goes on", async (_server, admin, stores) => {
  const store = stores.open();
  const { incarnation, outcomes } = await append(store, LOG, [1, 2, 3].map((data) => messageOf(data)));
  await admin.call(`STREAM.PURGE.${STREAM}`);
  const page = await store.read(LOG, LOG_START, ALL);
  const last = outcomes[2]!.cursor;
  assertEquals(page, { incarnation, lowWatermark: last, highWatermark: last, messages: [] });
  const next = await append(store, LOG, [messageOf(4)]);
  assert(next.incarnation === incarnation && next.outcomes[0]!.cursor > last);
});

test("a bucket that is removed is made anew, and gives no version again", async (_server, admin, stores) => {
  const records = await stores.open().openRecords!();
  const version = await records.set(["a"], "1", {});
  await admin.call("STREAM.DELETE.KV_webfw-records");
  assertEquals(await records.get(["a"]), null);
  assertEquals(await records.set(["a"], "2", { expect: version }), null);
  const next = await records.set(["a"], "3", { expect: null });
  assert(next !== null && next > version!);
});

test("a seek beyond the times that servers can count finds the end", async (_server, _admin, stores) => {
  const store = stores.open();
  const { outcomes } = await append(store, LOG, [messageOf(1)]);
  for (const time of [Date.UTC(2300, 0), Date.UTC(2500, 0), 8.64e15]) {
    assertEquals((await store.seek(LOG, new Date(time))).cursor, outcomes[0]!.cursor);
  }
  assertEquals((await store.seek(LOG, new Date(-8.64e15))).cursor, LOG_START);
});

test("names of topics and keys of records that are odd stay apart", async ({ url }) => {
  const app = new App({ topics: url });
  const names = ["a.b", "a", "A", "*", ">", "a b", "é☃", "\0", "a/b", "a\nb", "__proto__", "hash_a", "x".repeat(256)];
  const topics = names.map((name) => app.topic<string>(name, { durable: true, retention: { bytes: 1e6 } }));
  for (const topic of topics) await topic.publish(topic.name);
  for (const topic of topics) {
    const subscription = topic.subscribe({ from: "earliest" });
    const { value } = await subscription.next();
    assert(value && "data" in value);
    assertEquals(value.data, topic.name);
    await subscription.return();
  }
  assertEquals((await app.reportTopics()).topics.map(({ name }) => name).toSorted(), names.toSorted());
  const keys = [["a"], ["a", "b"], ["ab"], ["a.b"], ["*"], [">"], ["a", "*"], ["a", ">"], ["\0"], ["=YQ"], ["="], [
    " ",
  ]];
  keys.push(["A"], ["\r\n"], ["x".repeat(960)], Array.from({ length: 16 }, () => "é".repeat(30)));
  for (const key of keys) await app.records.set(key, key);
  for (const key of keys) assertEquals((await app.records.get(key))?.value, key);
  const listed = (await Array.fromAsync(app.records.list(["a"]))).map(({ key }) => key.join("/"));
  assertEquals(listed.toSorted(), ["a", "a/*", "a/>", "a/b"]);
  await app.stop();
});
