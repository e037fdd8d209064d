// Batches while others write at the same time, and while replies are lost.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { SimulatedDatabase } from "../../../../dev/faults/simulation/database.ts";
import { LOG_START, toGeneratedId, type TopicStore } from "../../../../src/store/topic_store.ts";
import { type KvEngine, type KvKey, type KvWrite, toEngine } from "../../../../src/store/kv/engine.ts";
import { fencingTokenKey, INCARNATION_KEY, newestIdsKey, sessionKey } from "../../../../src/store/kv/keys.ts";
import { KvStore } from "../../../../src/store/kv/kv_store.ts";
import { ALL, append, dataOf, logOf, messageOf } from "../../../contract/store_fixture.ts";
import { Random } from "../../support/random.ts";
import { losableStore } from "./losable_store.ts";

const LOG = logOf("orders");

interface Setting {
  /** A store whose writes the test meddles with. */
  readonly meddled: TopicStore;
  /** A store over the same data. */
  readonly other: TopicStore;
  /** The data. */
  readonly kv: Deno.Kv;
  /** The attempted writes of the store under test. */
  readonly writes: KvWrite[];
  /** How often it has read. */
  reads: number;
  meddle: (write: KvWrite, proceed: () => Promise<string | undefined>) => Promise<string | undefined>;
}

function test(title: string, body: (setting: Setting) => Promise<void>): void {
  Deno.test(`Appending: ${title}`, async () => {
    const kv = await Deno.openKv(":memory:");
    const engine: KvEngine = { ...toEngine(kv), close: () => {} };
    const writes: KvWrite[] = [];
    const write = (asked: KvWrite) => {
      writes.push(asked);
      return setting.meddle(asked, () => engine.write(asked));
    };
    const get = (keys: readonly KvKey[]) => {
      setting.reads++;
      return engine.get(keys);
    };
    const options = { name: "memory", interval: 50 };
    const setting: Setting = {
      meddled: new KvStore({ ...options, open: () => Promise.resolve({ ...engine, get, write }) }),
      other: new KvStore({ ...options, open: () => Promise.resolve(engine) }),
      kv,
      writes,
      reads: 0,
      meddle: (_, proceed) => proceed(),
    };
    await body(setting);
    await Promise.all([setting.meddled.close(), setting.other.close()]);
    kv.close();
  });
}

const isGuarded = ({ checks = [] }: KvWrite): boolean =>
  checks.some(({ key }) => key.join() === newestIdsKey("orders").join());

function numbers(from: number, to: number) {
  // Every fourth has no id.
  return Array.from({ length: to - from }, (_, index) => {
    const number = from + index;
    return messageOf(number, number % 4 === 3 ? undefined : `id ${number}`);
  });
}

test("a batch of many ids is one write, of no more checks than a database takes", async ({ meddled, writes }) => {
  await append(meddled, LOG, Array.from({ length: 256 }, (_, index) => messageOf(index, `id ${index}`)));
  const appending = writes.filter(({ append }) => append);
  assertEquals(appending.map(({ checks }) => checks!.length <= 10), [true]);
  assertEquals((await meddled.read(LOG, LOG_START, ALL)).messages.length, 256);
});

test("a node that is always overtaken gets its batch in nevertheless, in its order, each message once", async (setting) => {
  const { meddled, other, writes } = setting;
  let overtaken = 0;
  setting.meddle = async (write, proceed) => {
    if (isGuarded(write)) await append(other, LOG, [messageOf("quick", `quick ${overtaken++}`)]);
    return await proceed();
  };
  const session = crypto.randomUUID();
  const { outcomes } = await append(meddled, LOG, numbers(0, 40), { session, sequence: 0 });
  assert(overtaken > 0);
  for (const { checks = [] } of writes) assert(checks.length <= 10);
  const { messages } = await other.read(LOG, LOG_START, ALL);
  const own = messages.filter(({ data }) => data !== '"quick"');
  assertEquals(dataOf(own), Array.from({ length: 40 }, (_, index) => index));
  assertEquals(outcomes, own.map(({ cursor }) => ({ cursor, duplicate: false })));
  for (const [index, { message }] of numbers(0, 40).map((message, index) => [index, { message }] as const)) {
    const again = await append(other, LOG, [{ ...message, id: message.id ?? toGeneratedId(session, index) }]);
    assertEquals(again.outcomes, [{ cursor: outcomes[index]!.cursor, duplicate: true }]);
  }
});

for (const [count, title] of [[1, "a message"], [20, "messages"]] as const) {
  test(`${title} of the same ids that come in just before a write are not stored again`, async (setting) => {
    const { meddled, other } = setting;
    // Two batches: of the second one, the node knows which write with ids was the newest.
    for (const start of [0, 100]) {
      const ids = Array.from({ length: count }, (_, index) => start + 30 - index);
      let quick: Promise<unknown> | undefined;
      setting.meddle = async (_, proceed) => {
        await (quick ??= append(other, LOG, ids.map((number) => messageOf(number, `id ${number}`))));
        return await proceed();
      };
      const batch = Array.from({ length: 40 }, (_, index) => messageOf(start + index, `id ${start + index}`));
      const { outcomes } = await append(meddled, LOG, batch);
      const duplicates = outcomes.flatMap(({ duplicate }, index) => duplicate ? [start + index] : []);
      assertEquals(duplicates, ids.toReversed());
    }
    const { messages } = await other.read(LOG, LOG_START, ALL);
    assertEquals(new Set(dataOf(messages)).size, messages.length);
    assertEquals(messages.length, 80);
  });
}

test("a write whose reply is lost, and others after it, leave each message once", async (setting) => {
  const { meddled, other } = setting;
  let losses = 0;
  setting.meddle = async (write, proceed) => {
    const version = await proceed();
    if (version === undefined || !write.append || losses++ % 2 === 1) return version;
    await append(other, LOG, [messageOf("between", `between ${losses}`)]);
    throw new Error("The reply was lost");
  };
  for (const [from, to] of [[0, 30], [30, 33], [33, 34], [34, 100]] as const) {
    const { outcomes } = await append(meddled, LOG, numbers(from, to));
    assertEquals(outcomes.every(({ duplicate }) => !duplicate), true);
  }
  const { messages } = await other.read(LOG, LOG_START, ALL);
  const own = messages.filter(({ data }) => data !== '"between"');
  assertEquals(dataOf(own), Array.from({ length: 100 }, (_, index) => index));
  assert(losses > 1);
});

test("a batch whose reply is lost is found, and nothing is written after it", async (setting) => {
  const { meddled, other, writes } = setting;
  let isLost = false;
  setting.meddle = async (write, proceed) => {
    const version = await proceed();
    if (isLost || !write.append) return version;
    isLost = true;
    throw new Error("The reply was lost");
  };
  for (const ids of [[], ["one", "two"]] as const) {
    isLost = false;
    const messages = [0, 1].map((number) => messageOf(number, ids[number]));
    const { outcomes } = await append(meddled, LOG, messages);
    const { highWatermark } = await other.bounds(LOG);
    assertEquals(outcomes[1], { cursor: highWatermark, duplicate: false });
  }
  assertEquals(writes.filter(({ append }) => append).length, 4);
});

test("an attempt that is carried out long after it was abandoned has no effect", async (setting) => {
  const { meddled, other } = setting;
  const late: (() => Promise<string | undefined>)[] = [];
  setting.meddle = (write, proceed) => {
    if (!write.append || late.length > 0) return proceed();
    late.push(proceed);
    return Promise.reject(new Error("The request was lost"));
  };
  for (const [from, to] of [[0, 30], [30, 33], [33, 34]] as const) {
    late.length = 0;
    await append(meddled, LOG, numbers(from, to));
    assertEquals(await late[0]!(), undefined);
  }
  assertEquals(dataOf((await other.read(LOG, LOG_START, ALL)).messages).length, 34);
});

test("a batch of a session is one write, and an earlier one has no effect any more", async (setting) => {
  const { meddled, other, writes } = setting;
  const session = crypto.randomUUID();
  const proceedings: (() => Promise<string | undefined>)[] = [];
  setting.meddle = (write, proceed) => {
    if (write.append) proceedings.push(proceed);
    return proceed();
  };
  for (let sequence = 0; sequence < 5; sequence++) {
    await append(meddled, LOG, [messageOf(sequence)], { session, sequence });
  }
  assertEquals(writes.filter(({ append }) => append).length, 5);
  for (const proceed of proceedings) assertEquals(await proceed(), undefined);
  assertEquals(dataOf((await other.read(LOG, LOG_START, ALL)).messages), [0, 1, 2, 3, 4]);
});

test("a number that no message of a session has yet hides no later message, and none whose reply is lost", async (setting) => {
  const { meddled, other } = setting;
  const session = crypto.randomUUID();
  let isLost = false;
  setting.meddle = async (write, proceed) => {
    const version = await proceed();
    if (isLost || !write.append) return version;
    isLost = true;
    await append(other, LOG, [messageOf("early", toGeneratedId(session, 2))]);
    throw new Error("The reply was lost");
  };
  const { outcomes } = await append(meddled, LOG, [messageOf(0), messageOf(1)], { session, sequence: 0 });
  assertEquals(outcomes.map(({ duplicate }) => duplicate), [false, false]);
  const { outcomes: [again] } = await append(other, LOG, [messageOf("again", toGeneratedId(session, 1))]);
  assertEquals(again, { cursor: outcomes[1]!.cursor, duplicate: true });
  // An invented id does not keep other messages from being stored.
  const { outcomes: [own] } = await append(meddled, LOG, [messageOf(2)], { session, sequence: 2 });
  assertEquals(own!.duplicate, false);
  assertEquals(dataOf((await other.read(LOG, LOG_START, ALL)).messages), [0, 1, "early", 2]);
});

test("a session that the database has forgotten continues", async ({ meddled, kv }) => {
  const session = crypto.randomUUID();
  for (const [sequence, numbers] of [[0, [0, 1]], [2, [2]], [3, [3, 4]]] as const) {
    await append(meddled, LOG, numbers.map((number) => messageOf(number)), { session, sequence });
    await kv.delete(sessionKey(LOG.name, session) as string[]);
  }
  assertEquals(dataOf((await meddled.read(LOG, LOG_START, ALL)).messages), [0, 1, 2, 3, 4]);
});

test("a session that another node has begun is read first, and each message is written once", async (setting) => {
  const { meddled, other, writes } = setting;
  const session = crypto.randomUUID();
  await append(other, LOG, [messageOf(0)], { session, sequence: 0 });
  await append(meddled, LOG, [messageOf(1)], { session, sequence: 1 });
  assertEquals(writes.filter(({ append }) => append).length, 1);
  assertEquals(dataOf((await other.read(LOG, LOG_START, ALL)).messages), [0, 1]);
});

test("messages of sessions that are published again are looked for together", async (setting) => {
  const { meddled, other, writes } = setting;
  const [stored, lost] = [crypto.randomUUID(), crypto.randomUUID()];
  const { outcomes } = await append(other, LOG, [0, 1, 2].map((number) => messageOf(number)), {
    session: stored,
    sequence: 0,
  });
  // Learn the incarnation of the database first: a log without messages does not reveal it.
  await meddled.bounds(logOf("empty"));
  const [reads, before] = [setting.reads, writes.length];
  const again = [stored, lost].flatMap((session) =>
    [0, 1, 2].map((number) => messageOf(number, toGeneratedId(session, number)))
  );
  const result = await append(meddled, LOG, again);
  assertEquals(result.outcomes.slice(0, 3), outcomes.map(({ cursor }) => ({ cursor, duplicate: true })));
  assertEquals(result.outcomes.slice(3).map(({ duplicate }) => duplicate), [false, false, false]);
  // One for both session, and one to see that the lost one has ended; that end, and the messages.
  assertEquals([setting.reads - reads, writes.length - before], [2, 2]);
});

test("of however many session ids are made up, each message is stored once, within the checks of a write", async (setting) => {
  const { meddled, other, writes } = setting;
  const batch = Array.from(
    { length: 256 },
    (_, number) => messageOf(number, toGeneratedId(crypto.randomUUID(), number)),
  );
  const { outcomes } = await append(meddled, LOG, batch);
  assertEquals(outcomes.filter(({ duplicate }) => duplicate), []);
  const again = await append(other, LOG, batch);
  assertEquals(again.outcomes, outcomes.map(({ cursor }) => ({ cursor, duplicate: true })));
  assertEquals(dataOf((await other.read(LOG, LOG_START, ALL)).messages), batch.map((_, number) => number));
  for (const { checks = [] } of writes) assert(checks.length <= 10);
});

for (const [what, character] of [["three bytes", "日"], ["a zero byte", "\0"]] as const) {
  test(`names and ids of any length fit the keys of a write, of characters of ${what}`, async (setting) => {
    const { meddled, other, writes } = setting;
    const log = logOf(character.repeat(256), { bytes: 1e9 });
    const batch = Array.from({ length: 256 }, (_, index) => messageOf(index, character.repeat(250) + index));
    await append(meddled, log, batch);
    assert(writes.filter(({ append }) => append).length > 1);
    assertEquals(dataOf((await other.read(log, LOG_START, ALL)).messages), batch.map(({ data }) => JSON.parse(data)));
  });
}

Deno.test("Appending: when the database was lost and recreated, the policy of a log is written again", async () => {
  const { store, lose } = losableStore();
  const session = crypto.randomUUID();
  const before = await append(store, LOG, [messageOf("before")], { session, sequence: 0 });
  lose();
  const after = await append(store, LOG, [messageOf("after")], { session, sequence: 1 });
  assertNotEquals(after.incarnation, before.incarnation);
  assertEquals(await store.list(), [LOG]);
  assertEquals(dataOf((await store.read(LOG, LOG_START, ALL)).messages), ["after"]);
  await store.close();
});

Deno.test("Appending: messages in a recreated database are of its incarnation, whichever node noticed first", async () => {
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const { store, lose } = losableStore(async ({ append }) => {
    if (isHeld && append?.prefix.at(-1) === "slow") await held.promise;
  });
  const [slow, quick] = [logOf("slow"), logOf("quick")];
  const session = crypto.randomUUID();
  await append(store, slow, [messageOf("before")], { session, sequence: 0 });
  lose();
  isHeld = true;
  const appending = append(store, slow, [messageOf("after")], { session, sequence: 1 });
  await append(store, quick, [messageOf("found out")]);
  held.resolve();
  const { incarnation } = await appending;
  const { incarnation: current, messages } = await store.read(slow, LOG_START, ALL);
  assertEquals([incarnation, dataOf(messages)], [current, ["after"]]);
  assertEquals((await store.list()).map(({ name }) => name), ["quick", "slow"]);
  await store.close();
});

for (const id of [undefined, "id"]) {
  const what = id === undefined ? "the first batch of a session" : "a message with an id";
  Deno.test(`Appending: ${what} is of the incarnation of a recreated database`, async () => {
    const { store, elsewhere, lose } = losableStore();
    await append(store, LOG, [messageOf("before", "before")]);
    const { incarnation } = await elsewhere.bounds(LOG);
    lose();
    const after = await append(store, LOG, [messageOf("after", id)]);
    assertEquals(after.incarnation, incarnation);
    await Promise.all([store.close(), elsewhere.close()]);
  });
}

Deno.test("Appending: messages read from a recreated database are of its incarnation, before any node has noticed", async () => {
  const { store, elsewhere, lose } = losableStore();
  await append(store, LOG, [messageOf("before")]);
  const { incarnation } = await append(elsewhere, LOG, [messageOf("after")]);
  lose();
  const { incarnation: read, messages } = await store.read(LOG, LOG_START, ALL);
  assertEquals([read, dataOf(messages)], [incarnation, ["after"]]);
  assertEquals((await store.bounds(LOG)).incarnation, incarnation);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Appending: an empty log in a recreated database is of its incarnation, before any node has noticed", async () => {
  const { store, elsewhere, lose } = losableStore();
  await append(store, LOG, [messageOf("before")]);
  const { incarnation } = await elsewhere.bounds(LOG);
  lose();
  assertEquals([(await store.read(LOG, LOG_START, ALL)).incarnation, (await store.bounds(LOG)).incarnation], [
    incarnation,
    incarnation,
  ]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Appending: where the entry of the incarnation is not there, another incarnation begins, and trimming does not wait for it", async () => {
  const { lost, store, elsewhere } = losableStore();
  const log = logOf("orders", { count: 1 });
  const before = await append(store, log, [messageOf("a"), messageOf("b")]);
  for (const message of ["c", "d"]) await append(store, log, [messageOf(message)]);
  // As in a copy of a database, or one of an earlier version.
  const [incarnation] = await lost.get([INCARNATION_KEY]);
  await lost.write({ deletes: [fencingTokenKey(new TextDecoder().decode(incarnation!.value))] });
  await store.trim(log);
  const after = await append(store, log, [messageOf("e")]);
  assertNotEquals(after.incarnation, before.incarnation);
  assertEquals(dataOf((await store.read(log, LOG_START, ALL)).messages), ["a", "b", "c", "d", "e"]);
  await store.trim(log);
  assertEquals(dataOf((await store.read(log, LOG_START, ALL)).messages), ["e"]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Appending: a message that is found in a recreated database has its new id", async () => {
  const { store, elsewhere, lose } = losableStore();
  await append(store, LOG, [messageOf("before")]);
  const session = crypto.randomUUID();
  const stored = await append(elsewhere, LOG, [messageOf("message")], { session, sequence: 0 });
  lose();
  const again = await append(store, LOG, [messageOf("message", toGeneratedId(session, 0))]);
  assertEquals(again, {
    incarnation: stored.incarnation,
    outcomes: [{ cursor: stored.outcomes[0]!.cursor, duplicate: true }],
  });
  await Promise.all([store.close(), elsewhere.close()]);
});

for (const isFoundOut of [false, true]) {
  const who = isFoundOut ? "another append finds out" : "nobody else finds out";
  Deno.test(`Appending: a batch of several writes is whole in a database that is recreated between them, if ${who}`, async () => {
    let writes = 0;
    const { store, lose } = losableStore(async ({ append: appended }) => {
      if (appended?.prefix.at(-1) !== "long" || ++writes !== 2) return;
      lose();
      if (isFoundOut) await append(store, logOf("quick"), [messageOf("found out")]);
    });
    // Their keys do not fit one write.
    const batch = Array.from({ length: 200 }, (_, index) => messageOf(index, "日".repeat(240) + index));
    const { incarnation } = await append(store, logOf("long"), batch);
    assert(writes > 2);
    const numbers: unknown[] = [];
    for (let place = LOG_START; numbers.length < batch.length;) {
      const page = await store.read(logOf("long"), place, ALL);
      assertEquals([page.incarnation, page.messages.length > 0], [incarnation, true]);
      numbers.push(...dataOf(page.messages));
      place = page.messages.at(-1)!.cursor;
    }
    assertEquals(numbers, batch.map((_, index) => index));
    await store.close();
  });
}

const MAX_LOGS = 10_000;

Deno.test("Appending: a node remembers the logs written last, and writes the policies of others again", async () => {
  const database = new SimulatedDatabase(new Random(1));
  const written: string[] = [];
  const engine: KvEngine = {
    get: (keys) => Promise.resolve(database.get(keys)),
    list: (from, to, limit) => Promise.resolve(database.list(from, to, limit)),
    write: (write) => {
      const [policy] = write.sets!.filter(({ key }) => key.includes("policy"));
      if (policy) written.push(policy.key.at(-1)!);
      // The test is of what is written, and no log is read.
      return Promise.resolve(write.append ? "00000000000000ffffff" : database.write(write));
    },
    watch: async function* () {},
    close: () => {},
  };
  const store = new KvStore({ name: "simulated", interval: 50, open: () => Promise.resolve(engine) });
  for (const name of ["old", "used again"]) await append(store, logOf(name), [messageOf(1)]);
  for (let number = 0; number < MAX_LOGS - 2; number++) await append(store, logOf(`log ${number}`), [messageOf(1)]);
  assertEquals(written.length, MAX_LOGS);
  await append(store, logOf("used again"), [messageOf(2)]);
  assertEquals(written.length, MAX_LOGS);
  for (const name of ["newest", "used again", "old"]) await append(store, logOf(name), [messageOf(2)]);
  assertEquals(written.slice(MAX_LOGS), ["newest", "old"]);
  await store.close();
});

test("the session of messages that all have ids is not read", async (setting) => {
  const { meddled } = setting;
  const session = crypto.randomUUID();
  await append(meddled, LOG, [messageOf(0, "id 0")], { session, sequence: 0 });
  const { reads } = setting;
  for (const sequence of [1, 2, 3]) {
    await append(meddled, LOG, [messageOf(sequence, `id ${sequence}`)], { session, sequence });
  }
  assertEquals(setting.reads, reads);
});
