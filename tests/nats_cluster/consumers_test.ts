// Consumers on three NATS servers, of which one at a time is killed.

import { assertEquals } from "@std/assert";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Admin } from "../nats/admin.ts";
import { Holds, nodeOf, sorted, until, upTo } from "../contract/consumer_nodes.ts";
import { hasNats, NatsServer } from "../nats/nats_server.ts";

/** Whether all servers have what the leaders of these streams have. */
async function isCurrent(admin: Admin, streams: readonly string[]): Promise<boolean> {
  try {
    const infos = await Promise.all(
      streams.map((stream) =>
        admin.call<{ cluster: { replicas: { current: boolean; offline?: boolean }[] } }>(`STREAM.INFO.${stream}`)
      ),
    );
    return infos.every(({ cluster }) => cluster.replicas.every(({ current, offline }) => current && !offline));
  } catch {
    // There is no leader at present.
    return false;
  }
}

Deno.test({
  name: "Consumers on three NATS servers: no message is lost, or held by two nodes, while each server is killed",
  ignore: !hasNats,
  fn: async () => {
    using _log = new CapturedLog();
    await using cluster = await NatsServer.startCluster();
    await using admin = await Admin.open(cluster.url);
    const holds = new Holds();
    let published = 0;
    const nodes = upTo(3).map((node) => nodeOf(cluster.url, holds.handler(`${node}`, () => false), { lease: "10s" }));
    await Promise.all(nodes.map(({ app }) => app.start()));
    const publish = async (count: number) => {
      for (let n = 0; n < count; n++) await nodes[n % 3]!.orders.publish(published++);
    };
    for (const server of cluster.servers) {
      await publish(30);
      await server.kill();
      await publish(30);
      await until(() => holds.handled.size === published);
      await server.startAgain();
      // Otherwise two of three would be away for this server has not what the others have.
      await until(() => isCurrent(admin, ["webfw_topic_orders", "KV_webfw-records"]));
    }
    assertEquals(sorted([...holds.handled]), upTo(published));
    await Promise.all(nodes.map(({ app }) => app.stop()));
    assertEquals(holds.faults, []);
  },
});
