// Batches of consumers, on a denokv: section 3 of the contract of stores.

import { testConsumerBatches } from "../contract/consumer_batches.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

testConsumerBatches("on a denokv", async (body) => {
  await using server = await Denokv.start();
  await body({ url: server.url, token: server.token });
}, !hasDenokv);
