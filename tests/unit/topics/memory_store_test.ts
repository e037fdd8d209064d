import { MemoryStore } from "../../../src/topics/memory_store.ts";
import { testTopicStore } from "../../contract/topic_store.ts";

testTopicStore({
  name: "The store in memory",
  prepare: async (now) => {
    const store = new MemoryStore({ now });
    return { open: () => store, [Symbol.asyncDispose]: () => store.close() };
  },
});
