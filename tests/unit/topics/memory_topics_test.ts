import { MemoryStore } from "../../../src/topics/memory_store.ts";
import { testPublishFaults } from "../../contract/publish_faults.ts";
import { testReadFaults } from "../../contract/read_faults.ts";
import type { StoreKind } from "../../contract/store_fixture.ts";
import { testTopicGaps } from "../../contract/topic_gaps.ts";
import { testTopics } from "../../contract/topic.ts";

const MEMORY: StoreKind = {
  name: "the store in memory",
  prepare: async (now) => {
    const store = new MemoryStore({ now });
    return { open: () => store, [Symbol.asyncDispose]: () => store.close() };
  },
};

testTopics(MEMORY);
testTopicGaps(MEMORY);
testPublishFaults(MEMORY);
testReadFaults(MEMORY);
