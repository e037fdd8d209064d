/** What every store must do, except for crons and scheduled messages. */
import { testPublishFaults } from "./publish_faults.ts";
import { testReadFaults } from "./read_faults.ts";
import { testRecordsBesideLogs, testRecordStore } from "./record_store.ts";
import type { StoreKind } from "./store_fixture.ts";
import { testTopics } from "./topic.ts";
import { testTopicGaps } from "./topic_gaps.ts";
import { testTopicStore } from "./topic_store.ts";

/** Registers the suites for a kind of store. */
export function testStore(kind: StoreKind): void {
  testTopicStore(kind);
  testTopics(kind);
  testTopicGaps(kind);
  testPublishFaults(kind);
  testReadFaults(kind);
  testRecordStore(kind);
  testRecordsBesideLogs(kind);
}
