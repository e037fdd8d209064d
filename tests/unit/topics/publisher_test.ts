import { assert, assertEquals } from "@std/assert";
import { MemoryStore } from "../../../src/topics/memory_store.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { FaultyStore } from "../../contract/faulty_store.ts";
import { Gate } from "../../contract/gate.ts";

Deno.test("Messages without much data do not fill the memory either while a store hangs", async () => {
  const store = new FaultyStore(new MemoryStore());
  const gate = new Gate();
  store.faults = { beforeAppend: gate.pass };
  const topics = new Topics({ openStore: () => store });
  const topic = topics.topic<number>("numbers", { retention: { count: 10 } });
  const first = topic.publish(0);
  await gate.reached;
  const publishing = Array.from({ length: 200_000 }, (_, number) => topic.publish(number));
  gate.open();
  const outcomes = await Promise.allSettled([first, ...publishing]);
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  assert(refused.length > 0);
  const message = 'Cannot publish to the topic "numbers": ';
  assertEquals(new Set(refused.map(({ reason }) => String(reason).includes(message))), new Set([true]));
  // Those that were refused take no room.
  assertEquals((await topic.publish(1)).duplicate, false);
  await topics.close();
});
