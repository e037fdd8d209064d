// The suites for stores, over a real server of PostgreSQL.

import { testCron } from "../contract/cron.ts";
import { testPublishFaults } from "../contract/publish_faults.ts";
import { testReadFaults } from "../contract/read_faults.ts";
import { testRecordsBesideLogs, testRecordStore } from "../contract/record_store.ts";
import { testScheduled } from "../contract/scheduled.ts";
import { testTopics } from "../contract/topic.ts";
import { testTopicGaps } from "../contract/topic_gaps.ts";
import { testTopicStore } from "../contract/topic_store.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";
import { storesOver } from "./postgres_store.ts";

if (hasPostgres) {
  const server = await PostgresServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const kind = storesOver("PostgreSQL", () => server);
  testTopicStore(kind);
  testTopics(kind);
  testTopicGaps(kind);
  testPublishFaults(kind);
  testReadFaults(kind);
  testRecordStore(kind);
  testRecordsBesideLogs(kind);
  testCron(kind);
  testScheduled(kind);
} else Deno.test.ignore(`Topics over PostgreSQL: ${POSTGRES_MISSING}`, () => {});
