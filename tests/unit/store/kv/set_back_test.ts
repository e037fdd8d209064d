// Messages in a database that is restored from a backup while nodes run.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { SimulatedDatabase } from "../../../../dev/faults/simulation/database.ts";
import { inVirtualTime } from "../../../../dev/faults/simulation/virtual_time.ts";
import type { KvEngine, KvWrite } from "../../../../src/store/kv/engine.ts";
import { INCARNATION_KEY } from "../../../../src/store/kv/keys.ts";
import { KvStore } from "../../../../src/store/kv/kv_store.ts";
import { LOG_START, type StoredMessage, toGeneratedId } from "../../../../src/store/topic_store.ts";
import { ALL, append, dataOf, logOf, messageOf } from "../../../contract/store_fixture.ts";
import { Random } from "../../support/random.ts";

const LOG = logOf("orders");
/** So many that the database is not as far again before a node looks. */
const LOST = Array.from({ length: 30 }, (_, index) => `lost ${index}`);

type Write = (write: KvWrite) => Promise<string | undefined>;

/** A database, and how a store over it writes. */
function prepare(
  around: (write: KvWrite, carryOut: Write) => Promise<string | undefined> = (write, carryOut) => carryOut(write),
) {
  const database = new SimulatedDatabase(new Random(1));
  const carryOut: Write = (write) => Promise.resolve(database.write(write));
  const engine: KvEngine = {
    get: (keys) => Promise.resolve(database.get(keys)),
    list: (from, to, limit) => Promise.resolve(database.list(from, to, limit)),
    write: (write) => around(write, carryOut),
    watch: async function* () {},
    close: () => {},
  };
  const open = () =>
    new KvStore({ name: "simulated", interval: 50, isLogged: false, open: () => Promise.resolve(engine) });
  return { database, engine, open };
}

async function publish(store: KvStore, ...data: string[]): Promise<string> {
  let incarnation = "";
  for (const each of data) ({ incarnation } = await append(store, LOG, [messageOf(each)]));
  return incarnation;
}

async function read(store: KvStore): Promise<{ incarnation: string; data: unknown[] }> {
  const messages: StoredMessage[] = [];
  for (;;) {
    const page = await store.read(LOG, messages.at(-1)?.cursor ?? LOG_START, ALL);
    messages.push(...page.messages);
    if (page.messages.length === 0) return { incarnation: page.incarnation, data: dataOf(messages) };
  }
}

Deno.test("Set back: who publishes notices, and another incarnation begins of which the message is, once", async () => {
  const { database, open } = prepare();
  const store = open();
  await publish(store, "a", "b");
  const backup = database.backUp();
  const before = await publish(store, ...LOST);
  database.lose(backup);
  const after = await publish(store, "e");
  assertNotEquals(after, before);
  assertEquals(await read(store), { incarnation: after, data: ["a", "b", "e"] });
  await store.close();
});

Deno.test("Set back: a backup that is put back twice is noticed twice", async () => {
  const { database, open } = prepare();
  const store = open();
  await publish(store, "a");
  const backup = database.backUp();
  const incarnations = [await publish(store, ...LOST)];
  for (const data of ["d", "e"]) {
    database.lose(backup);
    incarnations.push(await publish(store, data));
  }
  assertEquals(new Set(incarnations).size, 3);
  assertEquals(await read(store), { incarnation: incarnations[2]!, data: ["a", "e"] });
  await store.close();
});

for (const isAhead of [false, true]) {
  const where = isAhead ? "another log has come further than that" : "nobody publishes";
  Deno.test(`Set back: a watcher notices, and gets a gap for the new incarnation, if ${where}`, async () => {
    const { database, open } = prepare();
    const [store, elsewhere] = [open(), open()];
    let woken = Promise.withResolvers<void>();
    const unwatch = store.watch(LOG, () => woken.resolve());
    await publish(elsewhere, "a");
    await woken.promise;
    const backup = database.backUp();
    woken = Promise.withResolvers();
    const before = await publish(elsewhere, ...LOST);
    await woken.promise;
    woken = Promise.withResolvers();
    database.lose(backup);
    // A node that has just begun knows of nothing that was lost.
    const begun = open();
    for (let number = 0; isAhead && number < 2 * LOST.length; number++) {
      await append(begun, logOf("others"), [messageOf(number)]);
    }
    await woken.promise;
    const { incarnation, data } = await read(store);
    assertNotEquals(incarnation, before);
    assertEquals(data, ["a"]);
    unwatch();
    await Promise.all([store.close(), elsewhere.close(), begun.close()]);
  });
}

/** Ids that do not fit one write. */
const LONG = Array.from({ length: 256 }, (_, index) => "日".repeat(240) + index);
const LAST_PART = 4;
for (const [what, lost] of [["what was before", LOST], ["its begin alone", []]] as const) {
  Deno.test(`Set back: a batch of several writes is whole if ${what} is lost between them`, async () => {
    let isCounted = false;
    let parts = 0;
    const { database, open } = prepare((write, carryOut) => {
      if (write.append && isCounted && ++parts === LAST_PART) database.lose(backup);
      return carryOut(write);
    });
    const store = open();
    await publish(store, "a");
    const backup = database.backUp();
    await publish(store, ...lost);
    const { incarnation: before } = await store.bounds(LOG);
    isCounted = true;
    const { incarnation, outcomes } = await append(store, LOG, LONG.map((id, index) => messageOf(index, id)));
    assert(parts > LAST_PART);
    assertNotEquals(incarnation, before);
    // The first message was lost with the database, and is stored after the rest.
    const { data, incarnation: present } = await read(store);
    assertEquals([present, new Set(data), data.length], [incarnation, new Set(["a", ...LONG.keys()]), 1 + LONG.length]);
    assertEquals(outcomes.filter(({ duplicate }) => duplicate), []);
    await store.close();
  });
}

Deno.test("Set back: a message whose reply is lost meanwhile is stored once, in the new incarnation", async () => {
  let isNext = false;
  const { database, open } = prepare(async (write, carryOut) => {
    const version = await carryOut(write);
    if (!isNext) return version;
    isNext = false;
    database.lose(backup);
    await carryOut(write);
    throw new Error("The reply is lost");
  });
  const store = open();
  await publish(store, "a");
  const backup = database.backUp();
  const before = await publish(store, ...LOST);
  isNext = true;
  const after = await publish(store, "e");
  assertNotEquals(after, before);
  assertEquals(await read(store), { incarnation: after, data: ["a", "e"] });
  await store.close();
});

Deno.test("Set back: a message that is found in the incarnation that began because of it begins no other", async () => {
  let isHeld = false;
  const held = Promise.withResolvers<void>();
  const renewed = Promise.withResolvers<void>();
  const { database, engine, open } = prepare(async (write, carryOut) => {
    const version = await carryOut(write);
    if (isHeld && write.sets?.some(({ key }) => key.join() === INCARNATION_KEY.join())) {
      renewed.resolve();
      await held.promise;
    }
    return version;
  });
  const store = open();
  await publish(store, "a");
  const backup = database.backUp();
  await publish(store, ...LOST);
  database.lose(backup);
  isHeld = true;
  const found = append(store, LOG, [messageOf("e")]);
  await renewed.promise;
  isHeld = false;
  // The store learns about the new incarnation and its messages before it looks for that message.
  const elsewhere = new KvStore({ name: "other", interval: 50, open: () => Promise.resolve(engine) });
  await publish(elsewhere, "f");
  await store.bounds(LOG);
  const later = await publish(store, "g");
  held.resolve();
  assertEquals((await found).incarnation, later);
  assertEquals(await read(store), { incarnation: later, data: ["a", "e", "f", "g"] });
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Set back: a late answer moves no node to an ended incarnation that it never knew", async () => {
  const { database, engine, open } = prepare();
  const [store, elsewhere] = [open(), open()];
  await publish(store, "a");
  const backup = database.backUp();
  await publish(elsewhere, ...LOST);
  database.lose(backup);
  await publish(elsewhere, ...LOST);
  const { get } = engine;
  const held = Promise.withResolvers<void>();
  engine.get = async (keys) => {
    const entries = await get(keys);
    await held.promise;
    return entries;
  };
  const late = store.bounds(LOG);
  await Promise.resolve();
  engine.get = get;
  database.lose(backup);
  const after = await publish(elsewhere, "b");
  assertEquals((await store.bounds(LOG)).incarnation, after);
  held.resolve();
  assertEquals((await late).incarnation, after);
  assertEquals(await read(store), { incarnation: after, data: ["a", "b"] });
  await Promise.all([store.close(), elsewhere.close()]);
});

/**
 * A store that has published "a" in a session, and another one that has begun another incarnation
 * with "b".
 */
async function renewElsewhere({ database, open }: ReturnType<typeof prepare>) {
  const [store, elsewhere] = [open(), open()];
  const session = crypto.randomUUID();
  const { incarnation: before } = await append(store, LOG, [messageOf("a")], { session, sequence: 0 });
  const backup = database.backUp();
  await publish(elsewhere, ...LOST);
  database.lose(backup);
  const after = await publish(elsewhere, "b");
  assertNotEquals(after, before);
  return { store, elsewhere, session, after };
}

Deno.test("Set back: a node that only publishes notices a new incarnation within a second", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { store, elsewhere, session, after } = await renewElsewhere(prepare());
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    assertEquals((await append(store, LOG, [messageOf("c")], { session, sequence: 1 })).incarnation, after);
    await Promise.all([store.close(), elsewhere.close()]);
  });
});

Deno.test("Set back: a write that is tried again for longer than a second notices that another incarnation has begun", async () => {
  await inVirtualTime(new Random(1), async () => {
    const prepared = prepare();
    const { engine } = prepared;
    const { store, elsewhere, session, after } = await renewElsewhere(prepared);
    const { write } = engine;
    engine.write = () => Promise.reject(new Error("The database is away"));
    const again = append(store, LOG, [messageOf("c")], { session, sequence: 1 });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    engine.write = write;
    assertEquals((await again).incarnation, after);
    assertEquals(await read(store), { incarnation: after, data: ["a", "b", "c"] });
    await Promise.all([store.close(), elsewhere.close()]);
  });
});

Deno.test("Set back: a batch of which the last reply gets lost is whole, whatever was known before it", async () => {
  let isCounted = false;
  let parts = 0;
  const { database, open } = prepare(async (write, carryOut) => {
    if (!write.append || !isCounted || ++parts !== LAST_PART) return await carryOut(write);
    database.lose(backup);
    await carryOut(write);
    throw new Error("The reply is lost");
  });
  const [store, elsewhere] = [open(), open()];
  await publish(store, "a");
  // The store does not know of these.
  await publish(elsewhere, ...LOST);
  const backup = database.backUp();
  isCounted = true;
  await append(store, LOG, LONG.map((id, index) => messageOf(index, id)));
  assertEquals(new Set((await read(store)).data), new Set(["a", ...LOST, ...LONG.keys()]));
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Set back: messages without an id of a batch of several writes are there once", async () => {
  const session = crypto.randomUUID();
  let isEnded = false;
  const { database, engine, open } = prepare(async (write, carryOut) => {
    if (isEnded && write.append) {
      isEnded = false;
      database.lose(backup);
    }
    return await carryOut(write);
  });
  const [store, elsewhere] = [open(), open()];
  await publish(store, "a");
  const backup = database.backUp();
  await publish(store, ...LOST);
  const { write } = engine;
  engine.write = async (each) => {
    engine.write = write;
    // Another publisher republishes a message of the batch before it is stored, so the batch is
    // stored one by one.
    await append(elsewhere, LOG, [messageOf("one", toGeneratedId(session, 1))]);
    const version = await write(each);
    isEnded = true;
    return version;
  };
  await append(store, LOG, ["zero", "one", "two"].map((data) => messageOf(data)), { session, sequence: 0 });
  assertEquals((await read(store)).data.toSorted(), ["a", "one", "two", "zero"]);
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Set back: messages that are found by their ids as another incarnation begins have ids of that", async () => {
  const { database, engine, open } = prepare();
  const [store, elsewhere] = [open(), open()];
  const batch = Array.from({ length: 20 }, (_, index) => messageOf(index, `${index}`));
  const { incarnation: before } = await append(elsewhere, LOG, batch);
  await publish(store, "a");
  const backup = database.backUp();
  await publish(elsewhere, ...LOST);
  const { get } = engine;
  engine.get = async (keys) => {
    if (keys.some((key) => key.includes("id"))) {
      engine.get = get;
      database.lose(backup);
      await publish(elsewhere, "b");
    }
    return await get(keys);
  };
  const { incarnation, outcomes } = await append(store, LOG, batch);
  assertNotEquals(incarnation, before);
  assertEquals(outcomes.filter(({ duplicate }) => !duplicate), []);
  assertEquals(await read(store), { incarnation, data: [...batch.keys(), "a", "b"] });
  await Promise.all([store.close(), elsewhere.close()]);
});

Deno.test("Set back: while an ended incarnation is being renewed, no node asks repeatedly", async () => {
  await inVirtualTime(new Random(1), async () => {
    const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    let isSlow = false;
    let asked = 0;
    const { database, engine, open } = prepare(async (write, carryOut) => {
      asked++;
      const begins = write.sets?.some(({ key }) => key.join() === INCARNATION_KEY.join());
      await rest(isSlow && begins ? 1_000 : 1);
      return await carryOut(write);
    });
    const { get } = engine;
    engine.get = async (keys) => {
      asked++;
      await rest(1);
      return await get(keys);
    };
    const store = open();
    await publish(store, "a");
    const backup = database.backUp();
    await publish(store, ...LOST);
    database.lose(backup);
    await publish(store, "b");
    database.lose(backup);
    isSlow = true;
    asked = 0;
    await publish(store, "c");
    assert(asked < 20, `it asked ${asked} times`);
    assertEquals((await read(store)).data, ["a", "c"]);
    await store.close();
  });
});

Deno.test("Set back: who writes a record notices, and versions from before are refused", async () => {
  const { database, open } = prepare();
  const [store, other] = [open(), open()];
  const [records, others] = await Promise.all([store.openRecords(), other.openRecords()]);
  const kept = await records.set(["app", "kept"], "1", {});
  const backup = database.backUp();
  for (const data of LOST) await records.set(["app", data], "1", {});
  const lost = await records.set(["app", "kept"], "2", {});
  database.lose(backup);
  await records.set(["app", "another"], "1", {});
  for (const expect of [kept, lost]) assertEquals(await records.set(["app", "kept"], "3", { expect }), null);
  assertNotEquals(
    await others.set(["app", "kept"], "3", { expect: (await others.get(["app", "kept"]))!.version }),
    null,
  );
  assertEquals((await records.get(["app", "kept"]))?.value, "3");
  await Promise.all([store.close(), other.close()]);
});
