import { FILE, NPM_FILE } from "../../../contract/kv/file_store.ts";
import { testPublishFaults } from "../../../contract/publish_faults.ts";
import { testReadFaults } from "../../../contract/read_faults.ts";
import { testRecordsBesideLogs, testRecordStore } from "../../../contract/record_store.ts";
import { testTopics } from "../../../contract/topic.ts";
import { testTopicGaps } from "../../../contract/topic_gaps.ts";
import { testTopicStore } from "../../../contract/topic_store.ts";

for (const kind of [FILE, NPM_FILE]) testTopicStore(kind);

testTopics(FILE);
testTopicGaps(FILE);
testPublishFaults(FILE);
testReadFaults(FILE);

for (const kind of [FILE, NPM_FILE]) testRecordStore(kind);
testRecordsBesideLogs(FILE);
