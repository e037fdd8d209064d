// Consumers with batches and rates, on a NATS server: section 3 of the contract of stores.

import { testConsumerBatches } from "../contract/consumer_batches.ts";
import { testConsumerRates } from "../contract/consumer_rates.ts";
import type { WithStore } from "../contract/paused_consumers.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

const withStore: WithStore = async (body) => {
  await using server = await NatsServer.start();
  await body(server.url);
};

testConsumerBatches("on a NATS server", withStore, !hasNats);
testConsumerRates("on a NATS server", withStore, !hasNats);
