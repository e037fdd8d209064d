// The suites for stores, over three real NATS servers that each keep all messages.

import { testRecordStore } from "../contract/record_store.ts";
import { testTopics } from "../contract/topic.ts";
import { testTopicGaps } from "../contract/topic_gaps.ts";
import { testTopicStore } from "../contract/topic_store.ts";
import { storesOver } from "../nats/jetstream_store.ts";
import { hasNats, NatsServer } from "../nats/nats_server.ts";

if (hasNats) {
  const cluster = await NatsServer.startCluster();
  Deno.test.afterAll(() => cluster[Symbol.asyncDispose]());
  const kind = storesOver("three NATS servers", () => cluster);
  testTopicStore(kind);
  testTopics(kind);
  testTopicGaps(kind);
  testRecordStore(kind);
} else Deno.test.ignore('Topics over NATS servers: there is none, run "deno task nats:install"', () => {});
