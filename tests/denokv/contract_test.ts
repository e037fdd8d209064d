// The suite for stores, over the real denokv.

import { testPublishFaults } from "../contract/publish_faults.ts";
import { testReadFaults } from "../contract/read_faults.ts";
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
} else Deno.test.ignore('Topics over a denokv: there is none, run "deno task denokv:install"', () => {});
