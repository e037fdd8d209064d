// What is read of logs of which something is in the way.

import { assertEquals } from "@std/assert";
import { lowKey } from "../../../../src/topics/kv/keys.ts";
import { LOG_START } from "../../../../src/topics/store.ts";
import { ALL, append, dataOf, logOf, messageOf } from "../../../contract/store_fixture.ts";
import { losableStore } from "./losable_store.ts";

const LOG = logOf("orders");

Deno.test("However much lies before the beginning of a log and was not removed, what comes after it is read", async () => {
  const { lost, store, elsewhere } = losableStore();
  for (let number = 0; number < 200; number++) await append(store, LOG, [messageOf(number)]);
  const { messages } = await store.read(LOG, LOG_START, ALL);
  const low = messages.at(-1)!.cursor;
  await lost.write({ sets: [{ key: lowKey("orders"), value: new TextEncoder().encode(low) }] });
  const page = await store.read(LOG, LOG_START, ALL);
  assertEquals([page.low, dataOf(page.messages)[0]], [low, messages.length]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Where a database is lost while messages that are too old are passed over, it is read from its beginning", async () => {
  const { lost, anew, store, elsewhere, lose } = losableStore();
  const log = logOf("orders", { age: 1 });
  for (let number = 0; number < 200; number++) await append(store, log, [messageOf(number)]);
  await append(elsewhere, log, [messageOf("anew")]);
  const { list } = lost;
  let reads = 0;
  lost.list = (from, to, limit) => {
    if (++reads === 1) return list(from, to, limit);
    lose();
    return anew.list(from, to, limit);
  };
  const page = await store.read(log, LOG_START, ALL);
  const { epoch, head } = await elsewhere.bounds(log);
  assertEquals(reads, 2);
  assertEquals([page.epoch, page.head], [epoch, head]);
  await Promise.all([store.close(), elsewhere.close()]);
});
