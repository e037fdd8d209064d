// Consumers that operators change, on a denokv: section 3 of the contract of stores.

import { testPausedConsumers, type WithStore } from "../contract/paused_consumers.ts";
import { testRedrivenLetters } from "../contract/redriven_letters.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

const withDatabase: WithStore = async (body) => {
  await using server = await Denokv.start();
  await body({ url: server.url, token: server.token });
};

testPausedConsumers("on a denokv", withDatabase, !hasDenokv);
testRedrivenLetters("on a denokv", withDatabase, !hasDenokv);
