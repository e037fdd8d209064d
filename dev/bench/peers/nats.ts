// A pull consumer of NATS JetStream, at the server whose address the argument is. Runs on Deno and,
// bundled, on Node.js.

import process from "node:process";
import { AckPolicy, type ConsumerMessages, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { IN_FLIGHT, serve } from "../consumers/work.ts";

const [servers = ""] = process.argv.slice(2);
const connection = await connect({ servers });
const manager = await jetstreamManager(connection);
const client = jetstream(connection);

serve(async (name, handle) => {
  await manager.streams.add({ name, subjects: [name] });
  await manager.consumers.add(name, {
    durable_name: "bench",
    ack_policy: AckPolicy.Explicit,
    max_ack_pending: IN_FLIGHT,
  });
  let messages: ConsumerMessages | undefined;
  return {
    publish: (data) => client.publish(name, JSON.stringify(data)),
    consume: async () => {
      const consumer = await client.consumers.get(name, "bench");
      messages = await consumer.consume({
        callback: (message) => {
          message.json();
          handle();
          message.ack();
        },
      });
    },
    close: async () => {
      await messages?.close();
      await connection.flush();
      await manager.streams.delete(name);
    },
  };
});
