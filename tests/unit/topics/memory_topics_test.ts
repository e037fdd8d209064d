import { MemoryStore } from "../../../src/topics/memory_store.ts";
import type { StoreKind } from "../../contract/store_fixture.ts";
import { testTopicFaults } from "../../contract/topic_faults.ts";
import { testTopics } from "../../contract/topic.ts";

const MEMORY: StoreKind = {
  name: "the store in memory",
  prepare: async (now) => {
    const store = new MemoryStore({ now });
    return { open: () => store, [Symbol.asyncDispose]: () => store.close() };
  },
};

testTopics(MEMORY);
testTopicFaults(MEMORY);
