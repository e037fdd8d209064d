// Consumers that are paused, on a denokv: section 3 of the contract of stores.

import { testPausedConsumers } from "../contract/paused_consumers.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

testPausedConsumers("on a denokv", async (body) => {
  await using server = await Denokv.start();
  await body({ url: server.url, token: server.token });
}, !hasDenokv);
