// "`topic.cancel(id)` before that" in section 3 of the contract of stores, "together with
// `transaction`", with nodes that are slow, stop in the middle, or do the same at once.

import { assert, assertEquals } from "@std/assert";
import { inVirtualTime } from "../../../dev/faults/simulation/virtual_time.ts";
import { LOG_START } from "../../../src/store/topic_store.ts";
import { SCHEDULED_LOG } from "../../../src/topics/schedule/scheduled_log.ts";
import type { Topic } from "../../../src/topics/topic.ts";
import { resolveTopicOptions } from "../../../src/topics/topic_options.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { ALL, dataOf } from "../../contract/store_fixture.ts";
import { Random } from "../../unit/support/random.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { type CallHook, nodeStore, SharedMemory, type StoreCall } from "../support/node_store.ts";

const OPTIONS = { durable: true, dedupe: "2m" } as const;
/** Commits in the call. */
const TRANSACTION = { query: () => Promise.resolve() };

interface Node {
  readonly topics: Topics;
  readonly topic: Topic<string>;
}

class Lab {
  readonly store = new SharedMemory();
  readonly nodes: Topics[] = [];

  readonly node = async (hook: CallHook = async () => {}): Promise<Node> => {
    const topics = new Topics({ openStore: () => nodeStore(this.store, hook) });
    const topic = topics.topic<string>("reminders", OPTIONS);
    await topics.start();
    this.nodes.push(topics);
    return { topics, topic };
  };

  /** The data of all messages. */
  readonly read = async (): Promise<unknown[]> => {
    const { policy } = resolveTopicOptions(OPTIONS, "reminders");
    return dataOf((await this.store.read({ name: "reminders", policy }, LOG_START, ALL)).messages);
  };
}

/** Registers a test in virtual time: nodes share a store. */
function virtual(title: string, body: (lab: Lab) => Promise<void>, seed = 1): void {
  Deno.test(`Cancelled messages: ${title}`, async () => {
    await inVirtualTime(new Random(seed), async () => {
      using _log = new CapturedLog();
      const lab = new Lab();
      // Nodes of a shared store do not keep the process alive.
      const alive = setInterval(() => {}, 1_000);
      await body(lab);
      await Promise.all(lab.nodes.map((topics) => topics.close()));
      clearInterval(alive);
      await lab.store.end();
    });
  });
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Holds calls of a node that are chosen, until it is opened. */
class Gate {
  readonly reached: Promise<void>;
  readonly #reach: () => void;
  readonly #opened = Promise.withResolvers<void>();
  readonly #isHeld: (call: StoreCall, moment: "before" | "after") => boolean;

  constructor(isHeld: (call: StoreCall, moment: "before" | "after") => boolean) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.reached = promise;
    this.#reach = resolve;
    this.#isHeld = isHeld;
  }

  readonly hook: CallHook = async (call, moment) => {
    if (!this.#isHeld(call, moment)) return;
    this.#reach();
    await this.#opened.promise;
  };

  open(): void {
    this.#opened.resolve();
  }
}

/** The moments at which a node that moves messages into records can be overtaken by another one. */
const MOMENTS: readonly (readonly [string, (call: StoreCall, moment: "before" | "after") => boolean])[] = [
  [
    "has read the log",
    ({ method, key }, moment) => method === "read" && key[0] === SCHEDULED_LOG.name && moment === "after",
  ],
  [
    "has read its position",
    ({ method, key }, moment) => method === "get" && key[0] === "due position" && moment === "after",
  ],
  ["writes a record", ({ method, key }, moment) => method === "set" && key[0] === "scheduled" && moment === "before"],
  [
    "has written a record",
    ({ method, key }, moment) => method === "set" && key[0] === "scheduled" && moment === "after",
  ],
  ["writes the index", ({ method, key }, moment) => method === "set" && key[0] === "due" && moment === "before"],
  [
    "writes its position",
    ({ method, key }, moment) => method === "set" && key[0] === "due position" && moment === "before",
  ],
];

for (const [title, isHeld] of MOMENTS) {
  for (const count of [1, 2]) {
    for (const pause of [0, 5 * 60_000]) {
      virtual(`a node that ${title} (${count}) and pauses for ${pause} ms brings back none`, async ({ node, read }) => {
        let times = 0;
        const gate = new Gate((call, moment) => isHeld(call, moment) && ++times >= count);
        const other = await node();
        await other.topic.cancel("unknown");
        const slow = await node(gate.hook);
        await slow.topic.publish("cancelled", { id: "cancelled", transaction: TRANSACTION, after: "2s" });
        await slow.topic.publish("published", { id: "published", transaction: TRANSACTION, after: "2s" });
        const isHolding = await Promise.race([gate.reached.then(() => true), pass(1_000).then(() => false)]);
        assertEquals(await other.topic.cancel("cancelled"), true);
        await pass(6_000 + pause);
        gate.open();
        await pass(60_000);
        assertEquals(await read(), ["published"], `held: ${isHolding}`);
        assertEquals(await other.topics.publishScheduled(), 0, `held: ${isHolding}`);
      });
    }
  }
}

for (const [title, isHeld] of MOMENTS) {
  virtual(`a node that ${title} and ends then loses none, and brings back none`, async ({ node, read }) => {
    const other = await node();
    const gate = new Gate(isHeld);
    const ending = await node(gate.hook);
    await ending.topic.publish("cancelled", { id: "cancelled", transaction: TRANSACTION, after: "2s" });
    await ending.topic.publish("published", { id: "published", transaction: TRANSACTION, after: "2s" });
    await gate.reached;
    assertEquals(await other.topic.cancel("cancelled"), true);
    await pass(60_000);
    assertEquals(await read(), ["published"]);
  });
}

virtual("a message whose transaction was open for an hour is published, even if its mover ends", async (lab) => {
  const { node, read } = lab;
  const other = await node();
  await other.topic.publish("first", { after: "1s" });
  await pass(60 * 60_000);
  const gate = new Gate(({ method, key }, moment) => {
    return method === "set" && key[0] === "due position" && moment === "after";
  });
  const ending = await node(gate.hook);
  const at = new Date(Date.now() - 60 * 60_000);
  await ending.topic.publish("long", { at, transaction: TRANSACTION });
  await gate.reached;
  await pass(60_000);
  assertEquals(await read(), ["first", "long"]);
});

virtual("a message whose publisher is slow is published, though others have looked for it", async ({ node, read }) => {
  const gate = new Gate(({ method, key }, moment) => method === "set" && key[0] === "scheduled" && moment === "before");
  await node();
  const slow = await node(gate.hook);
  const published = slow.topic.publish("slow", { after: "100ms" });
  await gate.reached;
  await pass(10_000);
  gate.open();
  await published;
  await pass(2_000);
  assertEquals(await read(), ["slow"]);
});

virtual("an id that is published again for the same time keeps its entry", async ({ node, read }) => {
  const gate = new Gate(({ method, key }, moment) => method === "delete" && key[0] === "due" && moment === "before");
  const other = await node();
  const slow = await node(gate.hook);
  const at = new Date(Date.now() + 5_000);
  await other.topic.publish("first", { id: "same", at });
  const cancelled = slow.topic.cancel("same");
  await Promise.race([gate.reached, cancelled]);
  const { duplicate } = await other.topic.publish("second", { id: "same", at });
  gate.open();
  assertEquals([await cancelled, duplicate], [true, false]);
  await pass(7_000);
  assertEquals(await read(), ["second"]);
});

virtual("an id that a transaction has scheduled is a duplicate on other nodes, too", async ({ node, read }) => {
  const [one, other] = [await node(), await node()];
  await one.topic.publish("first", { id: "same", transaction: TRANSACTION, after: "5s" });
  const again = await other.topic.publish("second", { id: "same", after: "1h" });
  assertEquals([again.duplicate, again.at.getTime() - Date.now() <= 5_000], [true, true]);
  await one.topic.publish("third", { id: "same", transaction: TRANSACTION, after: "1s" });
  await pass(7_000);
  assertEquals(await read(), ["first"]);
  assertEquals(await other.topic.cancel("same"), false);
  await pass(2 * 60 * 60_000);
  assertEquals(await read(), ["first"]);
});

virtual("during an outage of the store none is lost", async ({ node, read }) => {
  let isDown = false;
  const one = await node(async () => {
    if (isDown) throw new Error("The store does not answer");
  });
  const expected = Array.from({ length: 20 }, (_, index) => `${index}`);
  for (const [index, data] of expected.entries()) {
    await one.topic.publish(data, { id: data, transaction: TRANSACTION, after: 1_000 + index * 200 });
  }
  for (let round = 0; round < 6; round++) {
    await pass(400 + round * 50);
    isDown = !isDown;
  }
  await pass(60_000);
  assertEquals((await read()).toSorted(), expected.toSorted());
});

virtual("cancels at once share the moves of what transactions have scheduled", async ({ node, read }) => {
  let writes = 0;
  const one = await node(async ({ method }, moment) => {
    if (moment === "before") return;
    if (method === "set") writes++;
    await pass(10);
  });
  const ids = Array.from({ length: 50 }, (_, index) => `${index}`);
  for (const id of ids) await one.topic.publish(id, { id, transaction: TRANSACTION, after: "1h" });
  const cancelled = await Promise.all(ids.map((id) => one.topic.cancel(id)));
  assertEquals([cancelled.every((isCancelled) => isCancelled), await read()], [true, []]);
  assert(writes < 6 * ids.length, `${writes} writes`);
});

virtual("after a backup is restored, none comes again that was published before it", async ({ store, node, read }) => {
  const one = await node();
  await one.topic.publish("first", { transaction: TRANSACTION, after: "1s" });
  // Longer than the topic remembers ids.
  await pass(10 * 60_000);
  const ownRead = store.read.bind(store);
  store.read = async (...args) => ({ ...await ownRead(...args), incarnation: "0000000b" });
  await pass(10_000);
  await one.topic.publish("second", { transaction: TRANSACTION, after: "1s" });
  await (await node()).topic.publish("third", { transaction: TRANSACTION, after: "2s" });
  await pass(10_000);
  assertEquals(await read(), ["first", "second", "third"]);
});

/** Delays calls at random: most of them little, some by seconds, as on a machine that is starved. */
function slowly(random: Random): CallHook {
  return async () => {
    if (random.oneIn(40)) await pass(random.below(5_000));
    else if (random.oneIn(2)) await pass(random.below(100));
  };
}

/** Returns what is wrong; empty if nothing is. */
async function cancelAtRandom({ node, read }: Lab, random: Random): Promise<string[]> {
  const nodes = [await node(slowly(random)), await node(slowly(random)), await node(slowly(random))];
  const faults: string[] = [];
  const expected: { readonly data: string; readonly count: number; readonly what: string }[] = [];
  const publish = async (id: string, data: string, at: Date): Promise<void> => {
    const { topic } = random.pick(nodes);
    if (random.oneIn(3)) await topic.publish(data, { id, at });
    else await topic.publish(data, { id, at, transaction: TRANSACTION });
  };
  const cancel = async (id: string): Promise<number> => {
    await pass(random.below(2_500));
    const cancels = Array.from({ length: 1 + random.below(3) }, () => random.pick(nodes).topic.cancel(id));
    return (await Promise.all(cancels)).filter((isCancelled) => isCancelled).length;
  };
  const publishing = Promise.all(Array.from({ length: 4 }, async () => {
    await pass(random.below(8_000));
    await random.pick(nodes).topics.publishScheduled();
  }));
  await Promise.all(Array.from({ length: 12 }, async (_, index) => {
    const id = `${index}`;
    await pass(random.below(3_000));
    const at = new Date(Date.now() + 1 + random.below(2_000));
    await publish(id, `${id} first`, at);
    const isCancelled = random.oneIn(5) ? 0 : await cancel(id);
    expected.push({ data: `${id} first`, count: 1 - isCancelled, what: `${isCancelled} cancelled` });
    if (isCancelled !== 1) return;
    await publish(id, `${id} second`, random.oneIn(2) ? at : new Date(Date.now() + 1 + random.below(2_000)));
    const isCancelledAgain = random.oneIn(2) ? 0 : await cancel(id);
    expected.push({ data: `${id} second`, count: 1 - isCancelledAgain, what: `${isCancelledAgain} cancelled again` });
  }));
  await publishing;
  await pass(10 * 60_000);
  const delivered = await read();
  for (const { data, count, what } of expected) {
    const found = delivered.filter((other) => other === data).length;
    if (found !== count) faults.push(`${data}: ${what}, delivered ${found} times`);
  }
  const left = await nodes[0]!.topics.publishScheduled();
  if (left > 0) faults.push(`${left} are left over`);
  return faults;
}

for (let seed = 1; seed <= 10; seed++) {
  virtual(`each is cancelled once or published once, with slow nodes (${seed})`, async (lab) => {
    assertEquals(await cancelAtRandom(lab, new Random(seed)), []);
  }, seed);
}
