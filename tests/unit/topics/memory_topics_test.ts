import { MemoryStore } from "../../../src/topics/memory_store.ts";
import { testTopics } from "../../contract/topic.ts";

testTopics({
  name: "the store in memory",
  prepare: async (now) => {
    const store = new MemoryStore({ now });
    return { open: () => store, [Symbol.asyncDispose]: () => store.close() };
  },
});
