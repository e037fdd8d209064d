// "`events` … comes back with `Last-Event-ID` … and goes on where it was", while the node of a
// durable topic is killed or stopped, and started again.

import { type App, Events, SSE } from "@webfw/core";
import { client } from "@webfw/core/client";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { freePorts } from "../support/free_ports.ts";

const COUNT = 300;
/** The signals that end the node while these are published. */
const ENDS: ReadonlyMap<number, Deno.Signal> = new Map([
  [60, "SIGKILL"],
  [110, "SIGTERM"],
  [150, "SIGKILL"],
  [200, "SIGTERM"],
  [240, "SIGKILL"],
]);

/** The routes of the node, for their types. */
function routesOf(app: App) {
  const orders = app.topic("orders", { schema: v.object({ n: v.number() }), durable: true });
  return {
    publish: app.post("/orders", { body: v.object({ n: v.number() }) }, async (_request, { body }) => {
      await orders.publish(body, { id: String(body.n) });
    }),
    read: app.get("/orders", { response: Events(orders) }, async () => {
      return SSE(orders.subscribe({ from: "earliest" }), { retry: 100 });
    }),
  };
}

async function startNode(port: number, store: string): Promise<ChildProgram> {
  const program = await ChildProgram.start(`
    import { App, Events, SSE } from "${CORE}";
    import * as v from "valibot";
    ${routesOf}
    const app = new App({ topics: ${JSON.stringify(store)} });
    routesOf(app);
    await app.run({ port: ${port}, onListen: ({ port }) => console.log("port " + port) });
  `);
  await program.port();
  return program;
}

Deno.test("300 messages of a durable topic come once and in order, while their node is killed and stopped", async () => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_client_" });
  const [port = 0] = freePorts(1);
  const shop = client<ReturnType<typeof routesOf>>(`http://127.0.0.1:${port}`);
  let node = await startNode(port, `${folder}/topics.sqlite`);
  const reading = (async () => {
    const seen: unknown[] = [];
    for await (const event of shop.events("/orders")) {
      if (seen.push(event.gap ?? event.data.n) === COUNT) break;
    }
    return seen;
  })();

  /** Publishes with an id, so that a message that has come is not stored again. */
  async function publish(n: number): Promise<void> {
    for (;;) {
      try {
        return void await shop.post("/orders", { body: { n } });
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  for (let n = 1; n <= COUNT; n++) {
    const published = publish(n);
    const end = ENDS.get(n);
    if (end) {
      node.signal(end);
      await node.end();
      node = await startNode(port, `${folder}/topics.sqlite`);
    }
    await published;
  }
  assertEquals(await reading, Array.from({ length: COUNT }, (_, index) => index + 1));
  await node[Symbol.asyncDispose]();
  await Deno.remove(folder, { recursive: true });
});
