import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { inVirtualTime } from "../../../dev/faults/simulation/virtual_time.ts";
import { CannotOpenError, type GeneratedId, parseGeneratedId } from "../../../src/store/topic_store.ts";
import { PublishOutcomeUnknownError } from "../../../src/topics/publisher.ts";
import { MEMORY_CAPABILITIES, MemoryStore } from "../../../src/store/memory/memory_store.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { Clock } from "../../contract/clock.ts";
import { FaultyStore } from "../../contract/faulty_store.ts";
import { Gate } from "../../contract/gate.ts";
import { takeData } from "../../contract/reading.ts";
import { Random } from "../support/random.ts";

Deno.test("A store that hangs does not fill the memory", async () => {
  const store = new FaultyStore(new MemoryStore());
  const gate = new Gate();
  store.faults = { beforeAppend: gate.pass };
  const topics = new Topics({ openStore: () => store });
  const topic = topics.topic<string>("numbers");
  const { maxMessageBytes } = store.capabilities;
  const text = "x".repeat(maxMessageBytes - 2);
  const first = topic.publish(text);
  // It is a batch of its own.
  await gate.reached;
  const most = Math.floor(64 * 1024 * 1024 / maxMessageBytes);
  const publishing = Array.from({ length: most + 1 }, () => topic.publish(text));
  const error = await assertRejects(() => publishing.at(-1)!, Error, "wait to be stored");
  assert(!(error instanceof PublishOutcomeUnknownError));
  gate.open();
  const outcomes = await Promise.allSettled([first, ...publishing]);
  const stored = outcomes.filter(({ status }) => status === "fulfilled").length;
  // Each takes a little more than its data.
  assert(stored > 0.95 * most && stored <= most + 1, `${stored} of ${most}`);
  await topics.close();
});

Deno.test("Small messages do not fill the memory either while a store hangs", async () => {
  const store = new FaultyStore(new MemoryStore());
  const gate = new Gate();
  store.faults = { beforeAppend: gate.pass };
  const topics = new Topics({ openStore: () => store });
  const topic = topics.topic<number>("numbers", { retention: { count: 10 } });
  const outcomes: Promise<Error | undefined>[] = [];
  // All are awaited at once: the runtime searches a list when a rejection is handled later.
  const publish = (number: number) => {
    outcomes.push(topic.publish(number).then(() => undefined, (error: Error) => error));
  };
  publish(0);
  await gate.reached;
  // 64 MiB hold at most 131,072 messages of 512 bytes.
  for (let number = 1; number <= 132_000; number++) publish(number);
  gate.open();
  const errors = (await Promise.all(outcomes)).filter((error) => error !== undefined);
  assert(errors.length > 0 && errors.length < 10_000, `${errors.length} were refused`);
  for (const { message } of errors) assertStringIncludes(message, 'Cannot publish to the topic "numbers": ');
  // Refused messages take no room.
  assertEquals((await topic.publish(1)).duplicate, false);
  await topics.close();
});

Deno.test("Batches are of one session as long as all their outcomes are known, and no minute passes between them", async () => {
  const clock = new Clock();
  const store = new FaultyStore(new MemoryStore());
  const appended: GeneratedId[] = [];
  let fault = (): void => {};
  store.faults = {
    beforeAppend: ([first]) => {
      assert(first!.isGenerated);
      appended.push(parseGeneratedId(first!.id)!);
      fault();
    },
  };
  const topics = new Topics({ openStore: () => store, now: clock.now });
  const topic = topics.topic<number>("numbers");

  await Promise.all([0, 1, 2].map((number) => topic.publish(number)));
  await topic.publish(3);
  clock.advance(60_000);
  await topic.publish(4);
  clock.advance(60_001);
  await topic.publish(5);
  // One of two publishers aborts. The outcome of the other message is known.
  const leaving = new AbortController();
  fault = () => leaving.abort();
  const [stays, leaves] = await Promise.allSettled([
    topic.publish(6),
    topic.publish(7, { signal: leaving.signal }),
  ]);
  assertEquals(stays.status, "fulfilled");
  assertInstanceOf(leaves.status === "rejected" && leaves.reason, PublishOutcomeUnknownError);
  fault = () => {
    throw new Error("The store has failed");
  };
  const error = await assertRejects(() => topic.publish(8), PublishOutcomeUnknownError);
  fault = () => {};
  await topic.publish(9);
  await topic.publish(10);

  const continues = appended.map(({ session }, index) => session === appended[index - 1]?.session);
  assertEquals(continues, [false, true, true, false, true, false, false, true]);
  assertEquals(appended.map(({ sequence }) => sequence), [0, 3, 4, 0, 1, 0, 0, 1]);
  assertEquals(error.id, `${appended[5]!.session}.0`);
  await topics.close();
});

/** A store that takes one message at a time, and the topics over it. */
function oneByOne(): { store: FaultyStore; topics: Topics } {
  const capabilities = { ...MEMORY_CAPABILITIES, maxBatchMessages: 1 };
  const store = new FaultyStore(Object.assign(new MemoryStore(), { capabilities }));
  return { store, topics: new Topics({ openStore: () => store }) };
}

/** Does not answer for as long as stores retry. */
async function away(): Promise<never> {
  await pass(30_001);
  throw new Error("away");
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * How a publish ended, and when: `stored`, or the name and the message of the error and the message
 * of its cause.
 */
async function endOf(publishing: Promise<unknown>): Promise<{ at: number; end: string }> {
  const begin = performance.now();
  const end = await publishing.then(
    () => "stored",
    ({ name, message, cause }) => name === "Error" ? `${message}: ${cause.message}` : `${name}: ${cause?.message}`,
  );
  return { at: Math.round((performance.now() - begin) / 1_000), end };
}

const NOT_SENT = 'Cannot publish to the topic "numbers": the store did not answer in time, nothing is stored: away';

Deno.test("While the store is away, no publish waits for the retries of earlier ones: after 30 s it fails with them", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { store, topics } = oneByOne();
    const topic = topics.topic<number>("numbers");
    store.faults = { beforeAppend: away };
    const early = [0, 1, 2, 3].map((number) => endOf(topic.publish(number)));
    await pass(10_000);
    const late = [4, 5].map((number) => endOf(topic.publish(number)));
    assertEquals(await Promise.all([...early, ...late]), [
      { at: 30, end: "PublishOutcomeUnknownError: away" },
      ...[1, 2, 3].map(() => ({ at: 30, end: NOT_SENT })),
      { at: 50, end: "PublishOutcomeUnknownError: away" },
      { at: 50, end: NOT_SENT },
    ]);
    const sixth = endOf(topic.publish(6));
    await pass(10_000);
    store.faults = {};
    const seventh = endOf(topic.publish(7));
    assertEquals(await Promise.all([sixth, seventh]), [
      { at: 30, end: "PublishOutcomeUnknownError: away" },
      { at: 20, end: "stored" },
    ]);
    await topic.publish(8);
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 2), [7, 8]);
    await topics.close();
  });
});

Deno.test("When the store cannot be opened, publishes that have waited for 30 s fail with that error", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { store, topics } = oneByOne();
    const topic = topics.topic<number>("numbers");
    const refused = new CannotOpenError("It refuses the token");
    store.faults = { beforeAppend: () => away().catch(() => Promise.reject(refused)) };
    const outcomes = await Promise.allSettled([0, 1].map((number) => topic.publish(number)));
    assertEquals(outcomes, [0, 1].map(() => ({ status: "rejected", reason: refused })));
    assertEquals(store.batches, [1]);
    await topics.close();
  });
});

Deno.test("A message that waits for a start position does not wait longer than others", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { store, topics } = oneByOne();
    const topic = topics.topic<number>("numbers");
    store.faults = { beforeAppend: away, beforeBounds: () => pass(40_000) };
    const sent = endOf(topic.publish(0));
    const subscription = topic.subscribe();
    const held = endOf(topic.publish(1));
    assertEquals(await Promise.all([sent, held]), [
      { at: 30, end: "PublishOutcomeUnknownError: away" },
      { at: 30, end: NOT_SENT },
    ]);
    store.faults = {};
    await topic.publish(2);
    assertEquals(await takeData(subscription, 1), [2]);
    await topics.close();
  });
});

Deno.test("No session continues after a minute, also if the wall clock was set back meanwhile", async () => {
  const clock = new Clock();
  const store = new FaultyStore(new MemoryStore());
  const sessions = new Set<string>();
  store.faults = { beforeAppend: ([first]) => void sessions.add(parseGeneratedId(first!.id)!.session) };
  const topics = new Topics({ openStore: () => store, now: clock.now });
  const topic = topics.topic<number>("numbers");
  await inVirtualTime(new Random(1), async () => {
    await topic.publish(1);
    await topic.publish(2);
    clock.advance(-3_600_000);
    await new Promise((resolve) => setTimeout(resolve, 60_001));
    await topic.publish(3);
    await topics.close();
  });
  assertEquals(sessions.size, 2);
});
