import { assertEquals } from "@std/assert";
import { countGaps, LogWindow } from "../../../../src/work/consumers/log_window.ts";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import type { LogRef } from "../../../../src/store/topic_store.ts";

const LOG: LogRef = { name: "orders", policy: { age: Infinity, count: 2, bytes: 1e6, dedupe: 1 } };

Deno.test("What is missing is found wherever it was, also if more is removed before it is looked for", async () => {
  const store = new MemoryStore();
  let sent = 0;
  const publish = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      await store.append(LOG, [{ id: `${sent++}`, isGenerated: false, type: undefined, data: "7", bytes: 1 }]);
    }
  };
  await publish(1);
  const { incarnation, highWatermark } = await store.bounds(LOG);
  const window = new LogWindow({ store, log: LOG, keyOf: undefined });
  window.reset(incarnation);
  window.startAfter(highWatermark);
  await publish(1_000);
  await window.fill();
  await publish(1_000);
  await window.fill();
  const first = window.messages[0]!.cursor;
  assertEquals(countGaps(highWatermark, window.messages), 2);
  // Others had what was before the first of them.
  window.startAfter(first);
  assertEquals(countGaps(first, window.messages), 1);
  await store.close();
});
