// Messages that wait for a handler, and for a batch.

import { assertEquals } from "@std/assert";
import type { Delivery } from "../../../../src/work/consumers/delivery.ts";
import { ReadyMessages } from "../../../../src/work/consumers/ready_messages.ts";

function delivery(at: string, attempt?: number, key?: string): Delivery {
  return {
    at,
    attempt: attempt ?? 1,
    key,
    message: undefined,
    crashCount: 0,
    range: undefined,
    index: 0,
    outcome: undefined,
  };
}

const isIdle = () => false;

/** The positions of the messages of each handler. */
function dueIn(ready: ReadyMessages, now: number, isBusy: (delivery: Delivery) => boolean = isIdle): string[] {
  return Array.from(ready.due(now, isBusy), ({ deliveries }) => deliveries.map(({ at }) => at).join(""));
}

Deno.test("A batch is due when it is full, or has waited; then there is no time to wait for", () => {
  const ready = new ReadyMessages({ size: 2, wait: 100 });
  ready.add(delivery("a"), 0);
  assertEquals([dueIn(ready, 99), ready.nextDue(99, isIdle)], [[], 100]);
  // It may still wait for permits: a timer for it would fire at once, again and again.
  assertEquals([dueIn(ready, 100), ready.nextDue(100, isIdle)], [["a"], Infinity]);
  ready.add(delivery("b"), 50);
  assertEquals([dueIn(ready, 50), ready.nextDue(50, isIdle)], [["ab"], Infinity]);
  ready.add(delivery("c"), 60);
  assertEquals([dueIn(ready, 60), ready.nextDue(60, isIdle)], [["ab"], 160]);
});

Deno.test("Messages for another attempt are not in a batch with others", () => {
  const ready = new ReadyMessages({ size: 3, wait: 10 });
  for (const [at, attempt] of [["a", 1], ["b", 2], ["c", 1], ["d", 2]] as const) ready.add(delivery(at, attempt), 0);
  assertEquals(dueIn(ready, 10), ["ac", "bd"]);
});

Deno.test("With a key, what comes after another attempt waits, and a batch that cannot grow does not", () => {
  const ready = new ReadyMessages({ size: 3, wait: 10 });
  ready.add(delivery("a", 2, "k"), 0);
  ready.add(delivery("b", 1, "k"), 0);
  ready.add(delivery("c", 1, "other"), 0);
  assertEquals(dueIn(ready, 0), ["a"]);
  assertEquals(dueIn(ready, 10), ["a", "c"]);
  assertEquals(dueIn(ready, 10, ({ key }) => key === "k"), ["c"]);
  const [first] = ready.due(0, isIdle);
  ready.remove(first!.deliveries);
  ready.removeAll("other");
  assertEquals(dueIn(ready, 10), ["b"]);
});

Deno.test("Without batches, a handler gets one message, and a key one handler", () => {
  const ready = new ReadyMessages(undefined);
  for (const [at, key] of [["a", "k"], ["b", "k"], ["c", "other"]] as const) ready.add(delivery(at, 1, key), 0);
  assertEquals([dueIn(ready, 0), ready.nextDue(0, isIdle)], [["a", "c"], Infinity]);
});
