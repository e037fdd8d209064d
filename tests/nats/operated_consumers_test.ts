// Consumers that operators change, on a NATS server: section 3 of the contract of stores.

import { testPausedConsumers, type WithStore } from "../contract/paused_consumers.ts";
import { testRedrivenLetters } from "../contract/redriven_letters.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

const withServer: WithStore = async (body) => {
  await using server = await NatsServer.start();
  await body(server.url);
};

testPausedConsumers("on a NATS server", withServer, !hasNats);
testRedrivenLetters("on a NATS server", withServer, !hasNats);
