// The messages that the nodes of fault runs publish: by publishers that wait for each, and under
// shared names.

import { assert, assertEquals } from "@std/assert";
import type { LogEntry, Payload } from "../../dev/faults/node_log.ts";
import { runWorkload, type WorkloadPlan } from "../../dev/faults/workload.ts";

const PLAN: WorkloadPlan = {
  name: "a",
  generation: 1,
  publishers: 8,
  messages: 6,
  isShared: false,
  atOnce: 3,
  patience: 60_000,
  readers: 0,
  rest: 0,
};

/**
 * The messages of a node in the order of the calls, and the most that each publisher had in
 * progress at once.
 */
async function publishedBy(plan: WorkloadPlan, before: readonly LogEntry[] = []) {
  const calls: Payload[] = [];
  const [present, most] = [new Map<string, number>(), new Map<string, number>()];
  await runWorkload({
    plan,
    before,
    topic: {
      publish: async (payload) => {
        const { publisher } = payload;
        calls.push(payload);
        const count = (present.get(publisher) ?? 0) + 1;
        present.set(publisher, count);
        most.set(publisher, Math.max(count, most.get(publisher) ?? 0));
        await Promise.resolve();
        present.set(publisher, present.get(publisher)! - 1);
        return { id: `${calls.length}`, duplicate: false };
      },
      subscribe: async function* () {},
    },
    note: () => {},
    warn: () => {},
    signal: new AbortController().signal,
  });
  return { calls, most };
}

Deno.test("Some publishers wait for each publish, and others have several under way, in their order", async () => {
  const { calls, most } = await publishedBy(PLAN);
  assertEquals([...most].map(([publisher, count]) => `${publisher}: ${count}`), [
    "a.0: 1",
    "a.1: 1",
    "a.2: 3",
    "a.3: 3",
    "a.4: 1",
    "a.5: 1",
    "a.6: 3",
    "a.7: 3",
  ]);
  const byPublisher = Map.groupBy(calls, ({ publisher }) => publisher);
  for (const [publisher, own] of byPublisher) {
    assertEquals(own.map(({ number }) => number), [0, 1, 2, 3, 4, 5]);
    assertEquals(own.every(({ isHasty }) => isHasty === true), most.get(publisher)! > 1);
  }
});

Deno.test("Messages of an earlier generation are published again if they have ids, and only then", async () => {
  const before = ["a.2", "a.3"].map((publisher): LogEntry => ({ kind: "invoke", payload: { publisher, number: 0 } }));
  const { calls } = await publishedBy({ ...PLAN, publishers: 4 }, before);
  const countOf = (name: string) => calls.filter(({ publisher }) => publisher === name).length;
  assertEquals(["a.0", "a.1", "a.2", "a.3"].map(countOf), [6, 6, 6, 5]);
});

Deno.test("Nodes that share ids also have their own, and no two publish in the same order", async () => {
  const plan = { ...PLAN, publishers: 40, isShared: true };
  const [one, other] = [await publishedBy(plan), await publishedBy({ ...plan, name: "b" })];
  const namesOf = ({ calls }: typeof one) => calls.map(({ publisher, number }) => `${publisher}-${number}`);
  const [ofOne, ofOther] = [namesOf(one), namesOf(other)];
  const shared = ofOne.filter((name) => name.startsWith("all."));
  assertEquals(shared.toSorted(), ofOther.filter((name) => name.startsWith("all.")).sort());
  assertEquals(shared.length, 13 * PLAN.messages);
  assert(ofOne.includes("a.2-0") && ofOther.includes("b.2-0"));
  assert(shared.join() !== ofOther.filter((name) => name.startsWith("all.")).join());
});
