// A consumer on simulated nodes and a simulated store, and the checker of what real nodes did.

import { assert, assertEquals } from "@std/assert";
import { checkConsumer, type ConsumerHistory } from "../../dev/faults/consumers/check.ts";
import type { HandlerLine, Task } from "../../dev/faults/consumers/plan.ts";
import { simulateConsumer } from "../../dev/faults/simulation/consumers/simulation.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Random } from "../unit/support/random.ts";

Deno.test("Simulated nodes handle all messages, none at two nodes at once, and in the order of their keys", async () => {
  using _log = new CapturedLog();
  for (let seed = 1; seed <= 8; seed++) {
    const { faults, messages, handled } = await simulateConsumer(new Random(seed));
    assertEquals(faults, [], `seed ${seed}`);
    assert(handled >= messages / 2);
  }
});

Deno.test("Where one node takes over too early, simulated nodes have messages at once", async () => {
  using _log = new CapturedLog();
  const faults: string[] = [];
  for (let seed = 2; seed <= 3; seed++) {
    faults.push(...(await simulateConsumer(new Random(seed), { isHasty: true })).faults);
  }
  assert(faults.some((fault) => fault.includes("is held by")));
});

function task(number: number, key = "one"): Task {
  return { number, key, time: 1, plan: number === 9 ? "throws" : "works" };
}

/** A handler of a node, from one time to another. */
function handled(
  node: string,
  number: number,
  from: number,
  to: number,
  kind: HandlerLine["kind"] = "done",
  attempt = 1,
): HandlerLine[] {
  return [{ kind: "begin", node, number, attempt, time: from }, { kind, node, number, attempt, time: to }];
}

function faultsOf(history: Partial<ConsumerHistory>): string[] {
  return checkConsumer({
    plan: { attempts: 2, hasKeys: true, lease: 1_000 },
    tasks: [task(1), task(2)],
    lines: [...handled("a", 1, 0, 10), ...handled("b", 2, 10, 20)],
    troubles: [],
    givenUp: [],
    lost: 0,
    ...history,
  });
}

Deno.test("In a history that is right nothing is found, also where a node was killed or stood still", () => {
  assertEquals(faultsOf({}), []);
  const away = { kind: "store", from: 5, to: 15 } as const;
  const twice = [...handled("a", 1, 0, 10), ...handled("b", 1, 20, 25), ...handled("b", 2, 30, 40)];
  assertEquals(faultsOf({ lines: twice, troubles: [away] }), []);
  const begun: HandlerLine = { kind: "begin", node: "a", number: 1, attempt: 1, time: 0 };
  const lines = [begun, ...handled("b", 1, 50, 60), ...handled("b", 2, 70, 80)];
  assertEquals(faultsOf({ lines, troubles: [{ kind: "killed", node: "a", from: 5, to: Infinity }] }), []);
  const woken: HandlerLine = { kind: "aborted", node: "a", number: 1, attempt: 1, time: 65 };
  assertEquals(faultsOf({ lines: [...lines, woken], troubles: [{ kind: "frozen", node: "a", from: 5, to: 62 }] }), []);
});

Deno.test("A node may be stopped between its look at the lease and a handler, but not before two handlers", () => {
  const tasks = [task(1), task(2, "two")];
  const done = [...handled("a", 1, 0, 10), ...handled("a", 2, 0, 10)];
  const troubles = [{ kind: "frozen", node: "b", from: -600, to: 702 }] as const;
  const caught = handled("b", 1, 700, 703, "aborted");
  assertEquals(faultsOf({ tasks, lines: [...done, ...caught], troubles }), []);
  const lines = [...done, ...caught, ...handled("b", 2, 701, 703, "aborted")];
  assertEquals(faultsOf({ tasks, lines, troubles }), ["message 2 was handled by a, and again by b"]);
});

Deno.test("The checker finds each broken promise of consumers", () => {
  const one = handled("a", 1, 0, 10);
  assertEquals(faultsOf({ lines: one }), ["message 2 was never handled, nor given up"]);
  assertEquals(faultsOf({ givenUp: [{ number: 2, attempts: 1 }] }), ["message 2 was given up, and its handler works"]);
  assertEquals(faultsOf({ lines: [...one, ...handled("b", 1, 5, 15), ...handled("b", 2, 20, 30)] }), [
    "message 1 was held by a and b at once",
  ]);
  assertEquals(faultsOf({ lines: [...one, ...handled("b", 2, 5, 15)] }), [
    "key one: messages 1 and 2 at once",
    "key one: message 2 came before 1",
  ]);
  assertEquals(faultsOf({ lines: [...handled("b", 2, 0, 5), ...handled("a", 1, 10, 15)] }), [
    "key one: message 2 came before 1",
  ]);
  assertEquals(faultsOf({ lines: [...handled("a", 1, 0, 10, "done", 3), ...handled("b", 2, 10, 20)] }), [
    "message 1 was tried as try 3",
  ]);
  assertEquals(faultsOf({ lines: [...one, ...handled("b", 1, 20, 25), ...handled("b", 2, 30, 40)] }), [
    "message 1 was handled by a, and again by b",
  ]);
  assertEquals(faultsOf({ lost: 2 }), ["the consumer lost 2 messages"]);
  const late = [...one, ...handled("b", 1, 700, 705), ...handled("b", 2, 710, 720)];
  assertEquals(faultsOf({ lines: late }), []);
  assertEquals(faultsOf({ lines: late, troubles: [{ kind: "frozen", node: "b", from: -600, to: 702 }] }), [
    "message 1 was handled by a, and again by b",
  ]);
  const failed = [...handled("a", 9, 0, 1, "failed"), ...handled("a", 9, 2, 3, "failed")];
  assertEquals(faultsOf({ tasks: [task(9)], lines: failed, givenUp: [{ number: 9, attempts: 2 }] }), [
    "message 9 failed in try 1 on a, and again by a",
  ]);
  assertEquals(faultsOf({ tasks: [task(9)], lines: failed.slice(0, 2), givenUp: [{ number: 9, attempts: 1 }] }), [
    "message 9 was given up after 1 tries",
  ]);
});
