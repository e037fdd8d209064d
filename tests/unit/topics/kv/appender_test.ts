// What becomes of batches when others write at the same time, and when replies are lost.

import { assert, assertEquals } from "@std/assert";
import { newBatchKey, toBatchId } from "../../../../src/topics/batch_id.ts";
import { type KvEngine, type KvWrite, toEngine } from "../../../../src/topics/kv/engine.ts";
import { idsKey } from "../../../../src/topics/kv/keys.ts";
import { KvStore } from "../../../../src/topics/kv/kv_store.ts";
import { LOG_START, type TopicStore } from "../../../../src/topics/store.ts";
import { ALL, append, dataOf, logOf, messageOf } from "../../../contract/store_fixture.ts";

const LOG = logOf("orders");

interface Setting {
  /** A store whose writes the test meddles with. */
  readonly meddled: TopicStore;
  /** A store over the same data. */
  readonly other: TopicStore;
  /** What the meddled store has written, or tried to. */
  readonly writes: KvWrite[];
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
    const options = { name: "memory", interval: 50 };
    const setting: Setting = {
      meddled: new KvStore({ ...options, open: () => Promise.resolve({ ...engine, write }) }),
      other: new KvStore({ ...options, open: () => Promise.resolve(engine) }),
      writes,
      meddle: (_, proceed) => proceed(),
    };
    await body(setting);
    await Promise.all([setting.meddled.close(), setting.other.close()]);
    kv.close();
  });
}

const isGuarded = ({ checks = [] }: KvWrite): boolean =>
  checks.some(({ key }) => key.join() === idsKey("orders").join());

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
  const key = newBatchKey();
  const { outcomes } = await meddled.append(LOG, numbers(0, 40), { key });
  assert(overtaken > 0);
  for (const { checks = [] } of writes) assert(checks.length <= 10);
  const { messages } = await other.read(LOG, LOG_START, ALL);
  const own = messages.filter(({ data }) => data !== '"quick"');
  assertEquals(dataOf(own), Array.from({ length: 40 }, (_, index) => index));
  assertEquals(outcomes, own.map(({ cursor }) => ({ cursor, duplicate: false })));
  for (const [index, { message }] of numbers(0, 40).map((message, index) => [index, { message }] as const)) {
    const again = await append(other, LOG, [{ ...message, id: message.id ?? toBatchId(key, index) }]);
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

test("an attempt that is carried out when it was given up long ago has no effect any more", async (setting) => {
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

test("names and ids of any length fit the keys of a write", async ({ meddled, other, writes }) => {
  const log = logOf("日".repeat(256), { bytes: 1e9 });
  const batch = Array.from({ length: 256 }, (_, index) => messageOf(index, "日".repeat(250) + index));
  await append(meddled, log, batch);
  assert(writes.filter(({ append }) => append).length > 1);
  assertEquals(dataOf((await other.read(log, LOG_START, ALL)).messages), batch.map(({ data }) => JSON.parse(data)));
});

Deno.test("Appending: where the database was lost and made anew, what a log keeps is written again", async () => {
  const databases = [await Deno.openKv(":memory:"), await Deno.openKv(":memory:")];
  let engine = toEngine(databases[0]!);
  const store = new KvStore({
    name: "memory",
    interval: 50,
    open: () =>
      Promise.resolve({
        get: (keys) => engine.get(keys),
        list: (from, to, limit) => engine.list(from, to, limit),
        write: (write) => engine.write(write),
        watch: (keys) => engine.watch(keys),
        close: () => {},
      }),
  });
  await append(store, LOG, [messageOf("before")]);
  engine = toEngine(databases[1]!);
  await append(store, LOG, [messageOf("after")]);
  assertEquals(await store.list(), [LOG]);
  await store.close();
  for (const database of databases) database.close();
});
