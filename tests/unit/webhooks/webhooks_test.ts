// "5 tries over a day, 410 ends them, the last answer kept."

import { assert, assertEquals, assertRejects } from "@std/assert";
import * as v from "valibot";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import { isDiscard } from "../../../src/topics/consume_options.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { Outbox, type StoredWebhook } from "../../../src/webhooks/outbox.ts";
import { Webhooks } from "../../../src/webhooks/webhooks.ts";

Deno.test("there are 5 tries over about a day, and the topic keeps what waits", () => {
  const topics = new Topics({ openStore: () => new MemoryStore() });
  new Webhooks(topics, { allowPrivate: false }).webhook("order.paid", { body: v.null() });
  const [{ log, isDurable, options }] = topics.consumers as [(typeof topics.consumers)[0]];
  assertEquals([isDurable, options.attempts, options.deadLetter], [true, 5, undefined]);
  const hours = options.pauses!.reduce((sum, pause) => sum + pause, 0) / 3_600_000;
  // Up to a quarter comes on top.
  assert(hours * 1.125 > 23 && hours * 1.125 < 25, `${hours}`);
  assert(log.policy.age > 2 * hours * 3_600_000 && log.policy.bytes === Infinity);
});

Deno.test("the state after each try: the last one and a 410 are failures", async () => {
  const topics = new Topics({ openStore: () => new MemoryStore() });
  let status = 500;
  const outbox = await Outbox.open({
    ...{ topic: topics.topic<StoredWebhook>("webhooks"), records: topics.records, attempts: 5, allowPrivate: false },
    isDeclared: () => true,
    receiver: () => () => new Response(`${status}`, { status }),
  });
  const declared = {
    name: "order.paid",
    validator: { isAsync: false, check: (value: unknown) => value, validate: (value: unknown) => ({ value }) },
  };
  await using subscription = topics.topic<StoredWebhook>("webhooks").subscribe();
  await outbox.send(declared, "https://partner.example/", 1, { secret: "c2VjcmV0", id: "m-1" });
  const { value } = await subscription.next();
  const stored = (value as { data: StoredWebhook }).data;
  const tryIt = async (attempt: number) => {
    const error = await outbox.deliver(stored, { attempt, signal: new AbortController().signal }).catch((error) =>
      error
    );
    const [delivery] = await Array.fromAsync(outbox.deliveries(declared, { id: "m-1" }));
    return [
      delivery!.state,
      delivery!.attempt,
      delivery!.answer,
      error === undefined ? "" : isDiscard(error) ? "end" : "again",
    ];
  };
  assertEquals(await tryIt(1), ["retrying", 1, "500", "again"]);
  assertEquals(await tryIt(4), ["retrying", 4, "500", "again"]);
  assertEquals(await tryIt(5), ["failed", 5, "500", "again"]);
  status = 410;
  assertEquals(await tryIt(2), ["failed", 2, "410", "end"]);
  status = 299;
  assertEquals(await tryIt(3), ["delivered", 3, "299", ""]);
  // A secret is bound to its message: it cannot be used for another URL.
  const moved = { ...stored, url: "https://attacker.example/" };
  const signal = new AbortController().signal;
  const error = await assertRejects(
    () => outbox.deliver(moved, { attempt: 1, signal }),
    Error,
    "Its secret was encrypted",
  );
  assert(isDiscard(error));
  await topics.close();
});
