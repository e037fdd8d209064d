// Batches of consumers, on a NATS server: section 3 of the contract of stores.

import { testConsumerBatches } from "../contract/consumer_batches.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

testConsumerBatches("on a NATS server", async (body) => {
  await using server = await NatsServer.start();
  await body(server.url);
}, !hasNats);
