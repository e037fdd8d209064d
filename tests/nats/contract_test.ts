// The suites for stores, over a real NATS server with JetStream.

import { testPublishFaults } from "../contract/publish_faults.ts";
import { testReadFaults } from "../contract/read_faults.ts";
import { testRecordsBesideLogs, testRecordStore } from "../contract/record_store.ts";
import { testScheduled } from "../contract/scheduled.ts";
import { testTopics } from "../contract/topic.ts";
import { testTopicGaps } from "../contract/topic_gaps.ts";
import { testTopicStore } from "../contract/topic_store.ts";
import { storesOver } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

if (hasNats) {
  const server = await NatsServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const kind = storesOver("a NATS server", () => server);
  testTopicStore(kind);
  testTopics(kind);
  testTopicGaps(kind);
  testPublishFaults(kind);
  testReadFaults(kind);
  testRecordStore(kind);
  testRecordsBesideLogs(kind);
  testScheduled(kind);
} else Deno.test.ignore('Topics over a NATS server: there is none, run "deno task nats:install"', () => {});
