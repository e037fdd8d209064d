// The streams of JetStream: when one counts as set back.

import { assertEquals } from "@std/assert";
import { LogStreams } from "../../../../src/store/jetstream/log_streams.ts";
import type { NatsClient } from "../../../../src/store/jetstream/nats_client.ts";
import type { StoreConnection } from "../../../../src/store/store_connection.ts";

const LOG = { name: "orders", policy: { age: 1_000, count: 1e6, bytes: 1e9, dedupe: 1 } };
const NAME = "webfw_topic_orders";

/** A server with one stream. `answering` holds its answers back. */
class Server {
  last = 70;
  subject = `webfw.log.${NAME}.0123abcd`;
  answering: Promise<void> = Promise.resolve();

  readonly client = {
    call: async (_name: string, change?: { subjects: [string] }) => {
      if (change) this.subject = change.subjects[0];
      const info = {
        config: {
          ...{ name: NAME, subjects: [this.subject], num_replicas: 1 },
          metadata: { "webfw.topic": JSON.stringify(LOG.name) },
        },
        state: { messages: this.last, first_seq: 1, last_seq: this.last },
      };
      await this.answering;
      return info;
    },
  } as unknown as NatsClient;

  readonly streams = new LogStreams(
    { use: (action: (client: NatsClient) => unknown) => action(this.client) } as unknown as StoreConnection<NatsClient>,
    { prefix: "webfw", replicas: 1 },
  );
}

Deno.test("an answer from before a message was stored is no stream that was set back", async () => {
  const server = new Server();
  const stream = await server.streams.get(server.client, LOG);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.answering = promise;
  const asking = server.streams.state(LOG);
  await Promise.resolve();
  // Meanwhile a message is stored, and the server has said so.
  server.last = stream.newest = 71;
  resolve();
  assertEquals((await asking).stream.incarnation, "0123abcd");
  assertEquals((await server.streams.state(LOG)).last, 71);
});

Deno.test("a stream that ends before what was stored was set back", async () => {
  const server = new Server();
  await server.streams.get(server.client, LOG);
  server.last = 60;
  const { stream } = await server.streams.state(LOG);
  assertEquals(stream.incarnation === "0123abcd", false);
});
