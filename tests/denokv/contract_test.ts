// The suites for stores, over the real denokv.

import { testPublishFaults } from "../contract/publish_faults.ts";
import { testReadFaults } from "../contract/read_faults.ts";
import { testRecordsBesideLogs, testRecordStore } from "../contract/record_store.ts";
import { testScheduled } from "../contract/scheduled.ts";
import { testTopics } from "../contract/topic.ts";
import { testTopicGaps } from "../contract/topic_gaps.ts";
import { testTopicStore } from "../contract/topic_store.ts";
import { DATABASE } from "./database_store.ts";
import { hasDenokv } from "./denokv.ts";

if (hasDenokv) {
  testTopicStore(DATABASE);
  testTopics(DATABASE);
  testTopicGaps(DATABASE);
  testPublishFaults(DATABASE);
  testReadFaults(DATABASE);
  testRecordStore(DATABASE);
  testRecordsBesideLogs(DATABASE);
  testScheduled(DATABASE);
} else Deno.test.ignore('Topics over a denokv: there is none, run "deno task denokv:install"', () => {});
