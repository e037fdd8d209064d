// Consumers that are paused, on a NATS server: section 3 of the contract of stores.

import { testPausedConsumers } from "../contract/paused_consumers.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

testPausedConsumers("on a NATS server", async (body) => {
  await using server = await NatsServer.start();
  await body(server.url);
}, !hasNats);
