// Records while requests hang, replies are lost, and databases are lost or set back.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import type { RecordStore } from "../../../../src/store/record_store.ts";
import { type KvEngine, type KvWrite, toEngine } from "../../../../src/store/kv/engine.ts";
import { fencingTokenKey, INCARNATION_KEY, recordKey } from "../../../../src/store/kv/keys.ts";
import { KvStore } from "../../../../src/store/kv/kv_store.ts";
import { losableStore } from "./losable_store.ts";

const ANY = {};
const KEY = ["app", "a"];

interface Setting {
  /** Records whose writes the test meddles with. */
  readonly meddled: RecordStore;
  /** Records over the same data. */
  readonly other: RecordStore;
  readonly kv: Deno.Kv;
  meddle: (write: KvWrite, proceed: () => Promise<string | undefined>) => Promise<string | undefined>;
}

function test(title: string, body: (setting: Setting) => Promise<void>): void {
  Deno.test(`Records in Deno KV: ${title}`, async () => {
    const kv = await Deno.openKv(":memory:");
    const engine: KvEngine = { ...toEngine(kv), close: () => {} };
    const options = { name: "memory", interval: 50 };
    const write = (asked: KvWrite) => setting.meddle(asked, () => engine.write(asked));
    const meddled = new KvStore({ ...options, open: () => Promise.resolve({ ...engine, write }) });
    const other = new KvStore({ ...options, open: () => Promise.resolve(engine) });
    const setting: Setting = {
      meddled: await meddled.openRecords(),
      other: await other.openRecords(),
      kv,
      meddle: (_, proceed) => proceed(),
    };
    await body(setting);
    await Promise.all([meddled.close(), other.close()]);
    kv.close();
  });
}

test("a write that was abandoned undoes no later one, when the database carries it out after all", async (setting) => {
  const { meddled, other } = setting;
  await other.set(KEY, "0", ANY);
  for (const act of [() => meddled.set(KEY, "1", ANY), () => meddled.delete(KEY, {})]) {
    const late: (() => Promise<string | undefined>)[] = [];
    setting.meddle = (_, proceed) => {
      if (late.length > 0) return proceed();
      late.push(proceed);
      return Promise.reject(new Error("No answer"));
    };
    await act();
    const version = await other.set(KEY, "2", ANY);
    assertEquals(await late[0]!(), undefined);
    assertEquals(await meddled.get(KEY), { value: "2", version: version! });
  }
});

test("a write whose reply was lost is made again, or refused if it expects a version", async (setting) => {
  const { meddled, other } = setting;
  const loseOneReply = () => {
    let isLost = false;
    setting.meddle = async (_, proceed) => {
      const version = await proceed();
      if (isLost) return version;
      isLost = true;
      throw new Error("The connection was lost");
    };
  };
  await other.set(KEY, "0", ANY);
  loseOneReply();
  const version = await meddled.set(KEY, "1", ANY);
  assertEquals(await other.get(KEY), { value: "1", version: version! });
  loseOneReply();
  assertEquals(await meddled.set(KEY, "2", { expect: version }), null);
  assertEquals((await other.get(KEY))?.value, "2");
  loseOneReply();
  assertEquals(await meddled.delete(KEY, {}), true);
  assertEquals(await other.get(KEY), null);
  loseOneReply();
  assertEquals(await meddled.set(KEY, "3", { expect: null }), null);
  assertEquals((await other.get(KEY))?.value, "3");
});

test("a write without expect gets through, however often others are quicker", async (setting) => {
  let quicker = 0;
  setting.meddle = async (_, proceed) => {
    if (quicker < 20) await setting.other.set(KEY, `${quicker++}`, ANY);
    return await proceed();
  };
  const version = await setting.meddled.set(KEY, '"at last"', ANY);
  assertEquals(await setting.other.get(KEY), { value: '"at last"', version: version! });
});

test("an incomplete copy of a database, without the mark of its incarnation, can be written to", async ({ meddled, kv }) => {
  const before = await meddled.set(KEY, "0", ANY);
  const { value } = await kv.get<Uint8Array>([...INCARNATION_KEY]);
  await kv.delete([...fencingTokenKey(new TextDecoder().decode(value!))]);
  let version: string | null = null;
  for (let attempt = 0; version === null; attempt++) {
    assert(attempt < 10, "it is refused for ever");
    version = await meddled.set(KEY, "1", { expect: (await meddled.get(KEY))!.version });
  }
  assertNotEquals(version, before);
  assertEquals(await meddled.get(KEY), { value: "1", version });
});

test("an entry of something else is refused", async ({ meddled, kv }) => {
  await kv.set([...recordKey(KEY)], new Uint8Array([9, 0, 0, 0, 0, 0, 0, 0, 0]));
  await assertRejects(() => meddled.get(KEY), TypeError, "a later version of webfw has written it");
});

Deno.test("A version of a lost database is refused by the new one, which gives the same versions again", async () => {
  const { store, elsewhere, lose } = losableStore();
  const records = await store.openRecords();
  const anew = await elsewhere.openRecords();
  const lost = await records.set(KEY, "1", ANY);
  const kept = await anew.set(KEY, "2", ANY);
  assertEquals(lost!.split("-")[1], kept!.split("-")[1]);
  lose();
  assertEquals(await records.set(KEY, "3", { expect: lost }), null);
  assertEquals(await records.delete(KEY, { expect: lost! }), false);
  assertEquals(await records.get(KEY), { value: "2", version: kept! });
  assert(await records.set(KEY, "3", { expect: kept }));
  await Promise.all([store.close(), elsewhere.close()]);
});
