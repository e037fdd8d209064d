// Streams that one NATS server keeps, and then three.

import { assertEquals } from "@std/assert";
import { append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { Admin } from "../nats/admin.ts";
import { Stores } from "../nats/jetstream_store.ts";
import { hasNats, NatsServer } from "../nats/nats_server.ts";

const LOG = logOf("orders");
const STREAM = "webfw_topic_orders";

Deno.test({
  name: "Streams of NATS: more servers keep what one has kept, and a program that names one of them changes nothing",
  ignore: !hasNats,
  fn: async () => {
    await using cluster = await NatsServer.startCluster();
    await using admin = await Admin.open(cluster.url);
    await using few = new Stores(cluster.servers[0]!.url, "webfw");
    await using many = new Stores(cluster.url, "webfw");
    const [one, three] = [few.open(), many.open()];
    const replicas = async () => {
      const infos = await Promise.all(
        [STREAM, "KV_webfw-records"].map((stream) =>
          admin.call<{ config: { num_replicas: number } }>(`STREAM.INFO.${stream}`)
        ),
      );
      return infos.map(({ config }) => config.num_replicas);
    };
    await append(one, LOG, [messageOf(1)]);
    await (await one.openRecords!()).set(["a"], "1", {});
    assertEquals(await replicas(), [1, 1]);
    await append(three, LOG, [messageOf(2)]);
    await (await three.openRecords!()).set(["a"], "2", {});
    assertEquals(await replicas(), [3, 3]);
    await append(one, logOf("orders", { count: 7 }), [messageOf(3)]);
    await (await one.openRecords!()).set(["a"], "3", {});
    assertEquals(await replicas(), [3, 3]);
    assertEquals(dataOf(await readAll(three, LOG)), [1, 2, 3]);
  },
});
