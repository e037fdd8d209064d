// Consumers on three nodes that share a database.

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ticks } from "../spec/support/ticks.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

function test(title: string, body: (server: Denokv) => Promise<void>): void {
  Deno.test({
    name: `Consumers on a denokv: ${title}`,
    ignore: !hasDenokv,
    fn: async () => {
      using _log = new CapturedLog();
      await using server = await Denokv.start();
      await body(server);
    },
  });
}

test("three nodes share the messages, and each is handled once, also if the server is killed", async (server) => {
  const seen: [node: number, data: number][] = [];
  const nodes = [0, 1, 2].map((node) => {
    const app = new App({ topics: { url: server.url, token: server.token } });
    const orders = app.topic<number>("orders", { durable: true });
    orders.consume("mail", { concurrency: 2 }, async ({ data }) => {
      await ticks(2);
      seen.push([node, data]);
    });
    return { app, orders };
  });
  await Promise.all(nodes.map(({ app }) => app.start()));
  const publish = (from: number, to: number) =>
    Promise.all(
      Array.from({ length: to - from }, (_, index) => nodes[index % 3]!.orders.publish(from + index)),
    );
  await publish(0, 150);
  while (seen.length < 150) await ticks(5);
  await server.kill();
  await server.startAgain();
  await publish(150, 300);
  while (seen.length < 300) await ticks(5);
  assertEquals(
    seen.map(([, data]) => data).sort((one, other) => one - other),
    Array.from({ length: 300 }, (_, n) => n),
  );
  assert(new Set(seen.map(([node]) => node)).size > 1);
  const { app } = nodes[0]!;
  for (;;) {
    const [report] = (await app.reportTopics()).topics;
    if (report!.consumers[0]!.position === report!.head) break;
    await ticks(5);
  }
  await Promise.all(nodes.map(({ app }) => app.stop()));
});
