// Consumers, crons and idempotent routes on a PostgreSQL server that is killed, and on nodes that are
// cut off from it.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import * as v from "valibot";
import { cutOffRun } from "../contract/cron.ts";
import { Holds, nodeOf, shareMessages, until, upTo } from "../contract/consumer_nodes.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Relay } from "../support/relay.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";
import { Stores } from "./postgres_store.ts";

function test(title: string, body: (server: PostgresServer) => Promise<void>): void {
  Deno.test(`Work on PostgreSQL: ${title}`, async () => {
    using _log = new CapturedLog();
    await using server = await PostgresServer.start();
    await body(server);
  });
}

if (!hasPostgres) Deno.test.ignore(`Work on PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  test("three nodes share the messages, and each is handled, also if the server is killed", async (server) => {
    const nodes = await shareMessages(server);
    await Promise.all(nodes.map(({ app }) => app.stop()));
  });

  test("a node that is cut off aborts its handlers before another node has their messages", async (server) => {
    using relay = new Relay(server.port);
    const holds = new Holds();
    let isSlow = true;
    const far = nodeOf(
      server.url.replace(`:${server.port}/`, `:${relay.port}/`),
      holds.handler("far", () => isSlow),
      { lease: "2s", concurrency: 4 },
    );
    await far.app.start();
    await Promise.all(upTo(20).map((data) => far.orders.publish(data)));
    await until(() => holds.of("far").length === 4);
    const near = nodeOf(server.url, holds.handler("near", () => false), { lease: "2s", concurrency: 4 });
    await near.app.start();
    relay.set("lossy");
    await until(() => holds.handled.size === 20);
    isSlow = false;
    relay.set("whole");
    assertEquals(holds.faults, []);
    await Promise.all([far, near].map(({ app }) => app.stop()));
  });

  test("a cron's node that is cut off aborts its run before another one takes it", async (server) => {
    using relay = new Relay(server.port);
    await using near = new Stores(server);
    await using far = new Stores(server, {
      url: server.url.replace(`:${server.port}/`, `:${relay.port}/`),
      schema: near.schema,
    });
    await cutOffRun(await far.open().openRecords!(), await near.open().openRecords!(), relay);
  });

  test("a request with a key runs once on all nodes, also while the server is killed", async (server) => {
    const made: string[] = [];
    let gate = Promise.resolve();
    const nodes = [0, 1].map(() => {
      const app = new App({ topics: server.url });
      const body = v.object({ item: v.string(), size: v.number() });
      app.post("/orders", { body, status: 201, idempotent: "24h" }, async (_request, { body }) => {
        made.push(body.item);
        await gate;
        return { number: made.length, text: "x".repeat(body.size) };
      });
      return app;
    });
    const order = async (app: App, key: string, size = 0) => {
      const reply = await app.fetch(
        new Request("http://localhost/orders", {
          method: "POST",
          headers: { "idempotency-key": key, "content-type": "application/json" },
          body: JSON.stringify({ item: key, size }),
        }),
      );
      const { number, text } = await reply.json();
      return [reply.status, number, text?.length, reply.headers.get("idempotency-replayed")];
    };
    for (const [index, size] of [10, 900_000].entries()) {
      assertEquals(await order(nodes[0]!, `key-${index}`, size), [201, index + 1, size, null]);
      for (const node of nodes) assertEquals(await order(node, `key-${index}`, size), [201, index + 1, size, "true"]);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const running = order(nodes[0]!, "slow");
    await until(() => made.includes("slow"));
    await server.kill();
    await server.startAgain();
    assertEquals((await order(nodes[1]!, "slow"))[0], 409);
    resolve();
    assertEquals(await running, [201, 3, 0, null]);
    assertEquals(await order(nodes[1]!, "slow"), [201, 3, 0, "true"]);
    await Promise.all(nodes.map((app) => app.stop()));
  });
}
