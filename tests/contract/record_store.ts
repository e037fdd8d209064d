// What every store of records must do. `testRecordStore` is called with each kind of store.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { Records } from "../../src/store/records.ts";
import type { RecordKey, RecordStore } from "../../src/store/record_store.ts";
import { Random } from "../unit/support/random.ts";
import { Clock } from "./clock.ts";
import { append, logOf, messageOf, type StoreKind } from "./store_fixture.ts";

const MINUTE = 60_000;
const ANY = {};
const ABSENT = { expect: null };

/** Two stores over the same data, as of two processes, and their clock. */
interface RecordNodes {
  readonly one: RecordStore;
  readonly other: RecordStore;
  readonly clock: Clock;
}

/** All records below a prefix, by their keys as JSON. */
async function allBelow(store: RecordStore, prefix: RecordKey): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { key, value, version } of store.list(prefix)) {
    assert(!found.has(JSON.stringify(key)), "a key is listed twice");
    assertEquals(await store.get(key), { value, version });
    found.set(JSON.stringify(key), value);
  }
  return found;
}

/** Registers the tests of a kind of store. */
export function testRecordStore(kind: StoreKind): void {
  const test = (title: string, body: (nodes: RecordNodes) => Promise<void>): void => {
    Deno.test(`Records in ${kind.name}: ${title}`, async () => {
      const clock = new Clock();
      await using fixture = await kind.prepare(clock.now);
      const [one, other] = await Promise.all([fixture.open(), fixture.open()].map((store) => store.openRecords!()));
      await body({ one: one!, other: other!, clock });
    });
  };
  const timed: typeof test = kind.hasOwnClock ? () => {} : test;

  test("what was set is read in whichever process, and nothing else", async ({ one, other }) => {
    assertEquals(await one.get(["a"]), null);
    const first = await one.set(["a"], '{"n":1,"text":"zwei €"}', ANY);
    assertEquals(await other.get(["a"]), { value: '{"n":1,"text":"zwei €"}', version: first! });
    const second = await other.set(["a"], "null", ANY);
    assertEquals(await one.get(["a"]), { value: "null", version: second! });
    assertNotEquals(first, second);
    assertEquals([await one.get(["a", "b"]), await one.get(["b"])], [null, null]);
  });

  test("with expect, it is set only if it has that version", async ({ one, other }) => {
    const first = await one.set(["a"], "1", ABSENT);
    assert(first !== null);
    assertEquals(await other.set(["a"], "2", ABSENT), null);
    const second = await other.set(["a"], "2", { expect: first });
    assert(second !== null);
    assertEquals(await one.set(["a"], "3", { expect: first }), null);
    for (const expect of ["", "nonsense", `${second}0`, second.slice(0, -1)]) {
      assertEquals(await one.set(["a"], "3", { expect }), null, expect);
    }
    assertEquals(await one.set(["b"], "3", { expect: second }), null);
    assertEquals([await one.get(["a"]), await one.get(["b"])], [{ value: "2", version: second }, null]);
  });

  test("it is deleted, with expect only if it has that version", async ({ one, other }) => {
    const first = await one.set(["a"], "1", ANY);
    const second = await one.set(["a"], "1", ANY);
    assertEquals(await other.delete(["a"], { expect: first! }), false);
    assertEquals(await other.get(["a"]), { value: "1", version: second! });
    assertEquals(await other.delete(["a"], { expect: second! }), true);
    assertEquals(await one.get(["a"]), null);
    assertEquals([await one.delete(["a"], {}), await one.delete(["a"], { expect: second! })], [true, false]);
    await one.set(["a"], "1", ANY);
    assertEquals([await other.delete(["a"], {}), await one.get(["a"])], [true, null]);
  });

  test("a version is never given again, also not after a deletion", async ({ one, other }) => {
    const versions = new Set<string>();
    for (let round = 0; round < 10; round++) {
      versions.add((await one.set(["a"], "1", ANY))!);
      await other.delete(["a"], {});
      versions.add((await other.set(["a"], "1", ABSENT))!);
    }
    assertEquals(versions.size, 20);
    for (const expect of [...versions].slice(0, -1)) assertEquals(await one.set(["a"], "2", { expect }), null);
  });

  timed("a record that has expired is absent in every way", async ({ one, other, clock }) => {
    const first = await one.set(["a"], "1", { expiresIn: MINUTE });
    clock.advance(MINUTE - 1);
    assertEquals(await other.get(["a"]), { value: "1", version: first! });
    clock.advance(1);
    assertEquals([await other.get(["a"]), await allBelow(one, ["a"])], [null, new Map()]);
    assertEquals(await one.set(["a"], "2", { expect: first! }), null);
    assertEquals(await one.delete(["a"], { expect: first! }), false);
    const second = await other.set(["a"], "2", { expect: null, expiresIn: MINUTE });
    assertEquals(await one.get(["a"]), { value: "2", version: second! });
    assertEquals(await one.set(["a"], "3", ABSENT), null);
  });

  timed("each write sets the expiry anew, and one without it takes it away", async ({ one, other, clock }) => {
    const first = await one.set(["a"], "1", { expiresIn: MINUTE });
    await one.set(["b"], "1", { expiresIn: MINUTE });
    clock.advance(MINUTE / 2);
    const second = await other.set(["a"], "2", { expect: first, expiresIn: MINUTE });
    await other.set(["b"], "2", ANY);
    clock.advance(MINUTE - 1);
    assertEquals(await one.get(["a"]), { value: "2", version: second! });
    clock.advance(1);
    assertEquals([await one.get(["a"]), (await one.get(["b"]))?.value], [null, "2"]);
  });

  test("of those who claim a record at once, one gets it", async ({ one, other }) => {
    for (let round = 0; round < 5; round++) {
      const claims = Array.from(
        { length: 8 },
        (_, index) => (index % 2 ? one : other).set(["job", `${round}`], `${index}`, ABSENT),
      );
      const versions = (await Promise.all(claims)).filter((version) => version !== null);
      assertEquals(versions.length, 1);
      assertEquals((await one.get(["job", `${round}`]))?.version, versions[0]);
    }
  });

  test("a counter that all change with expect counts all", async ({ one, other }) => {
    const count = async (store: RecordStore): Promise<void> => {
      for (let done = 0; done < 10;) {
        const entry = await store.get(["count"]);
        const next = `${Number(entry?.value ?? 0) + 1}`;
        if (await store.set(["count"], next, { expect: entry?.version ?? null })) done++;
      }
    };
    await Promise.all([count(one), count(other), count(one)]);
    assertEquals((await one.get(["count"]))?.value, "30");
  });

  test("writes without expect at once all get through, and one is the last", async ({ one, other }) => {
    const writes = Array.from({ length: 10 }, (_, index) => (index % 2 ? one : other).set(["a"], `${index}`, ANY));
    const versions = await Promise.all(writes);
    assertEquals(new Set(versions).size, 10);
    const { value, version } = (await one.get(["a"]))!;
    assertEquals(versions[Number(value)], version);
    await Promise.all([one, other, one].map((store) => store.delete(["a"], {})));
    assertEquals(await other.get(["a"]), null);
  });

  test("a list has the records whose keys begin with its parts", async ({ one, other }) => {
    const keys = [["a"], ["a", "b"], ["a", "b", "c"], ["a", "c"], ["ab"], ["a\0"], ["a", "b\0"], ["a", "bc"], [
      "b",
      "a",
    ]];
    for (const [index, key] of keys.entries()) await one.set(["app", ...key], `${index}`, ANY);
    await one.set(["apple"], "100", ANY);
    const below = async (...prefix: string[]) => [...(await allBelow(other, prefix)).values()].map(Number).sort();
    assertEquals(await below("app"), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assertEquals(await below("app", "a"), [0, 1, 2, 3, 6, 7]);
    assertEquals(await below("app", "a", "b"), [1, 2]);
    assertEquals(await below("app", "a", "b", "c"), [2]);
    assertEquals([await below("app", "x"), await below("app", "a", "b", "c", "d")], [[], []]);
  });

  test("a list has all records, however many and large they are, and can be left", async ({ one, other }) => {
    const value = JSON.stringify("x".repeat(20_000));
    const keys = Array.from({ length: 450 }, (_, index) => ["many", `${index}`, "é"]);
    await Promise.all(keys.map((key, index) => one.set(key, index % 3 === 0 ? value : `${index}`, ANY)));
    assertEquals((await Array.fromAsync(other.list(["many"]))).length, keys.length);
    for await (const { key } of other.list(["many"])) {
      assertEquals(key[0], "many");
      break;
    }
  });

  test("the largest value and the largest keys are taken", async ({ one, other }) => {
    const value = JSON.stringify("x".repeat(60 * 1024 - 2));
    const keys = [
      ["space", ..."x".repeat(16)],
      ["space", "😀".repeat(240)],
      ["space", "\0".repeat(960)],
      ["space", ...Array.from({ length: 16 }, () => "\0".repeat(60))],
    ];
    for (const key of keys) {
      await one.set(key, value, { expiresIn: 10 * 365 * 24 * 60 * MINUTE });
      assertEquals((await other.get(key))?.value, value);
    }
    assertEquals((await allBelow(other, ["space"])).size, keys.length);
  });

  test("keys can be any text, and similar keys are different records", async ({ one, other }) => {
    const texts = ["a", "a/", "A", "a ", "__proto__", "constructor", "0", "é", "e\u0301", "\u0000", "日本", "😀", '"'];
    for (const text of texts) await one.set(["k", text, text], JSON.stringify(text), ANY);
    for (const text of texts) assertEquals((await other.get(["k", text, text]))?.value, JSON.stringify(text));
    assertEquals((await allBelow(other, ["k"])).size, texts.length);
  });

  test("a watch that is offered calls after each write of its process, until it ends", async ({ one }) => {
    if (!one.watch) return;
    let calls = 0;
    const unwatch = one.watch(["a"], () => calls++);
    const unwatchOther = one.watch(["a", "b"], () => calls += 100);
    const version = await one.set(["a"], "1", ANY);
    assertEquals(calls, 1);
    await one.delete(["a"], { expect: version! });
    assertEquals(calls, 2);
    await one.set(["a"], "1", { expect: "nonsense" });
    assertEquals(calls, 2);
    await one.set(["a", "bc"], "1", ANY);
    await one.set(["ab"], "1", ANY);
    assertEquals(calls, 3, "a record below the key, and no other one");
    unwatch();
    unwatchOther();
    await one.set(["a"], "1", ANY);
    assertEquals(calls, 3);
  });

  test("a watch of a prefix yields what is there, and what whichever process changes below it", async (nodes) => {
    const { one, other, clock } = nodes;
    const records = new Records({
      open: () => Promise.resolve(one),
      watches: { isEnding: () => false, open: new Set() },
    }, "app");
    await other.set(["app", "on", "a"], '"Ada"', ANY);
    await other.set(["app", "online", "z"], '"Zoe"', ANY);
    await using watch = records.watch(["on"]);
    const next = async () => {
      const { value } = await watch.next();
      return value && [value.key, value.record?.value];
    };
    assertEquals(await next(), [["on", "a"], "Ada"]);
    await other.set(["app", "on", "a"], '"Adele"', ANY);
    assertEquals(await next(), [["on", "a"], "Adele"]);
    await records.set(["on", "b", "c"], "Bob", { expiresIn: kind.hasOwnClock ? 1_500 : MINUTE });
    assertEquals(await next(), [["on", "b", "c"], "Bob"]);
    clock.advance(MINUTE + 1);
    assertEquals(await next(), [["on", "b", "c"], undefined]);
    await other.set(["app", "on"], "1", ANY);
    assertEquals(await next(), [["on"], 1]);
    await other.delete(["app", "on", "a"], {});
    assertEquals(await next(), [["on", "a"], undefined]);
  });

  test("whatever is done in whatever order, each answer is that of one history", async ({ one, other, clock }) => {
    const random = new Random(7);
    const model = new Map<string, { value: string; version: string; expires: number }>();
    const present = (name: string) => {
      const found = model.get(name);
      return found && found.expires > clock.now() ? found : undefined;
    };
    const used: string[] = ["nonsense"];
    for (let step = 0; step < 400; step++) {
      const store = random.pick([one, other]);
      const name = random.pick(["a", "b", "c"]);
      const known = present(name);
      const action = random.below(6);
      if (action < 3) {
        const expect = random.pick([undefined, null, known?.version, random.pick(used)]);
        const expiresIn = random.pick(kind.hasOwnClock ? [undefined, 1_000_000] : [undefined, 5, 50]);
        const version = await store.set([name], `${step}`, {
          ...(expect !== undefined && { expect }),
          ...(expiresIn !== undefined && { expiresIn }),
        });
        assertEquals(version !== null, expect === undefined || expect === (known?.version ?? null));
        if (version === null) continue;
        used.push(version);
        model.set(name, { value: `${step}`, version, expires: clock.now() + (expiresIn ?? Infinity) });
      } else if (action === 3) {
        const expect = random.pick([undefined, known?.version, random.pick(used)]);
        const isDeleted = await store.delete([name], expect === undefined ? {} : { expect });
        assertEquals(isDeleted, expect === undefined || expect === known?.version);
        if (isDeleted) model.delete(name);
      } else if (action === 4) {
        assertEquals((await Array.fromAsync(store.list([name]))).length, known ? 1 : 0);
      } else clock.advance(random.below(10));
      const now = present(name);
      assertEquals(await store.get([name]), now ? { value: now.value, version: now.version } : null);
    }
  });
}

/** Registers the tests of records and logs in one store. */
export function testRecordsBesideLogs(kind: StoreKind): void {
  Deno.test(`Records in ${kind.name} and the logs beside them do not disturb one another`, async () => {
    await using fixture = await kind.prepare(new Clock().now);
    const store = fixture.open();
    const records = await store.openRecords!();
    assertEquals(await store.openRecords!(), records);
    await append(store, logOf("a"), [messageOf(1)]);
    await records.set(["a"], "1", ANY);
    assertEquals([...(await allBelow(records, ["a"])).keys()], ['["a"]']);
    if (store.list) assertEquals((await store.list()).map(({ name }) => name), ["a"]);
    await store.close();
    await assertRejects(() => records.get(["a"]), Error, "closed");
    await assertRejects(() => records.set(["a"], "1", ANY), Error, "closed");
    await assertRejects(() => records.delete(["a"], {}), Error, "closed");
    await assertRejects(() => Array.fromAsync(records.list(["a"])), Error, "closed");
  });
}
