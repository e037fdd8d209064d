// Consumers with batches and rates, on a denokv: section 3 of the contract of stores.

import { testConsumerBatches } from "../contract/consumer_batches.ts";
import { testConsumerRates } from "../contract/consumer_rates.ts";
import type { WithStore } from "../contract/paused_consumers.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

const withStore: WithStore = async (body) => {
  await using server = await Denokv.start();
  await body({ url: server.url, token: server.token });
};

testConsumerBatches("on a denokv", withStore, !hasDenokv);
testConsumerRates("on a denokv", withStore, !hasDenokv);
