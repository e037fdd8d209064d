import { testCron } from "../../../contract/cron.ts";
import { testPublishFaults } from "../../../contract/publish_faults.ts";
import { testReadFaults } from "../../../contract/read_faults.ts";
import { testRecordsBesideLogs, testRecordStore } from "../../../contract/record_store.ts";
import { testScheduled } from "../../../contract/scheduled.ts";
import { SQLITE } from "../../../contract/sql/sqlite_store.ts";
import { testTopics } from "../../../contract/topic.ts";
import { testTopicGaps } from "../../../contract/topic_gaps.ts";
import { testTopicStore } from "../../../contract/topic_store.ts";

testTopicStore(SQLITE);
testTopics(SQLITE);
testTopicGaps(SQLITE);
testPublishFaults(SQLITE);
testReadFaults(SQLITE);
testRecordStore(SQLITE);
testRecordsBesideLogs(SQLITE);
testCron(SQLITE);
testScheduled(SQLITE);
