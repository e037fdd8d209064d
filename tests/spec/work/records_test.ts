// Section 5 of the contract of work: "`RecordStore` with `get(key)` […], `set(key, value, { expect?,
// expiresIn? })` […], `delete(key, { expect? })`, `list(prefix)`". What each store does is tested by
// `tests/contract/record_store.ts`.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { App, type Records } from "@webfw/core";
import { recordSessions, session } from "@webfw/core/auth";
import type { TopicStore } from "@webfw/core/store";
import { TestClient } from "@webfw/core/testing";
import { join } from "node:path";
import * as v from "valibot";
import { MovedClock } from "../support/moved_clock.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

/** Runs with the records of an application in memory. */
async function inMemory(body: (records: Records, app: App) => Promise<void>): Promise<void> {
  const app = new App();
  await body(app.records, app);
  await app.stop();
}

Deno.test("`get(key)` gives `{ value, version }` or null, and `set` the new version", () =>
  inMemory(async (records) => {
    assertEquals(await records.get(["user", "7"]), null);
    const value = { name: "Ada", tags: ["a", null], n: 1.5 };
    const version = await records.set(["user", "7"], value);
    assertEquals(await records.get<typeof value>(["user", "7"]), { value, version: version! });
  }));

Deno.test("`set` gives null where `expect` is not the present one; `expect: null`: absent", () =>
  inMemory(async (records) => {
    const first = await records.set(["a"], 1, { expect: null });
    assertEquals(await records.set(["a"], 2, { expect: null }), null);
    const second = await records.set(["a"], 2, { expect: first! });
    assert(second !== null);
    assertEquals(await records.set(["a"], 3, { expect: first! }), null);
    assertEquals(await records.delete(["a"], { expect: first! }), false);
    assertEquals(await records.delete(["a"], { expect: second }), true);
    assertEquals([await records.delete(["a"]), await records.get(["a"])], [true, null]);
  }));

Deno.test("`list(prefix)` is an async iterable of `{ key, value, version }`", () =>
  inMemory(async (records) => {
    const version = await records.set(["cart", "7", "tea"], 2);
    await records.set(["cart", "8"], 1);
    assertEquals(await Array.fromAsync(records.list(["cart", "7"])), [
      { key: ["cart", "7", "tea"], value: 2, version: version! },
    ]);
    assertEquals((await Array.fromAsync(records.list([]))).length, 2);
  }));

Deno.test("`expiresIn` is milliseconds or a text", async () => {
  using clock = new MovedClock();
  await inMemory(async (records) => {
    await records.set(["a"], 1, { expiresIn: 1_000 });
    await records.set(["b"], 1, { expiresIn: "2s" });
    await records.set(["c"], 1);
    const present = async () => (await Array.fromAsync(records.list([]))).map(({ key }) => key[0]).join("");
    assertEquals(await present(), "abc");
    clock.advance(1_000);
    assertEquals(await present(), "bc");
    clock.advance(1_000);
    assertEquals(await present(), "c");
  });
});

Deno.test("keys are `string[]`, and mistakes in them are named", () =>
  inMemory(async (records) => {
    const bad: unknown[] = ["a", ["a", ""], ["a", 7], ["\ud800"], null, undefined];
    for (const key of bad) {
      const message = "the key must be an array of strings, none of them empty or malformed";
      const error = await assertRejects(() => records.get(key as string[]), TypeError, message);
      assertMatch(error.message, /^Cannot get the record: /);
      await assertRejects(() => records.set(key as string[], 1), TypeError, "Cannot set the record");
      await assertRejects(() => records.delete(key as string[]), TypeError, "Cannot delete the record");
      assertThrows(() => records.list(key as string[]), TypeError, "Cannot list the records");
      assertThrows(() => records.watch(key as string[]), TypeError, "Cannot watch the records");
    }
    for (const key of [[], Array.from({ length: 17 }, () => "a"), ["é".repeat(481)]]) {
      await assertRejects(() => records.get(key), RangeError, "must have 1 to 16 parts of at most 960 bytes together");
    }
    await records.set(["é".repeat(480)], 1);
  }));

Deno.test("values are JSON up to 60 KiB, and others are refused", () =>
  inMemory(async (records) => {
    await records.set(["a"], "x".repeat(61_438));
    await assertRejects(
      () => records.set(["a"], "x".repeat(61_439)),
      RangeError,
      "Cannot set the record: the value has 61441 bytes of JSON, and at most 61440 are kept",
    );
    for (const value of [undefined, 1n, NaN, new Date(0), { at: new Map() }, () => 1]) {
      await assertRejects(
        () => records.set(["a"], value),
        TypeError,
        "Cannot set the record: JSON cannot represent the",
      );
    }
  }));

Deno.test("unknown and wrong options are refused", () =>
  inMemory(async (records) => {
    const set = (options: object) => records.set(["a"], 1, options);
    await assertRejects(
      () => set({ expires: 1 }),
      TypeError,
      'the option "expires" is unknown, the nearest is "expire',
    );
    await assertRejects(() => set({ expect: 7 }), TypeError, "expect must be the version of a record, or null, got 7");
    await assertRejects(() => set({ expiresIn: "soon" }), RangeError, "Cannot set the expiresIn of the record");
    await assertRejects(() => set({ expiresIn: "4000d" }), RangeError, "it is ten years at most");
    const remove = (options: object) => records.delete(["a"], options);
    await assertRejects(() => remove({ expected: "" }), TypeError, 'the option "expected" is unknown');
    await assertRejects(() => remove({ expect: null }), TypeError, "expect must be the version of a record, got null");
    assertThrows(() => records.watch(["a"], { abort: 1 } as object), TypeError, 'the option "abort" is unknown');
    assertEquals(await set({ expect: undefined, expiresIn: undefined }) !== null, true);
  }));

Deno.test("`request.app.records` is public, the same as `app.records`", async () => {
  const app = new App();
  app.put("/theme/{name}", async (request, { name }) => void await request.app.records.set(["theme"], name));
  {
    await using client = new TestClient(app);
    assertEquals((await client.put("/theme/dark")).status, 204);
    assertEquals((await app.records.get(["theme"]))?.value, "dark");
  }
  // The memory is gone with the application.
  assertEquals(await app.records.get(["theme"]), null);
  await app.stop();
});

Deno.test("`new App({ topics })` gives both: records survive, and other applications share them", async () => {
  await using folder = await TemporaryFolder.make();
  const topics = join(folder.path, "topics.sqlite");
  const [one, other] = [new App({ topics }), new App({ topics })];
  const version = await one.records.set(["a"], 1);
  assertEquals(await other.records.get(["a"]), { value: 1, version: version! });
  await one.stop();
  assertEquals(await one.records.get(["a"]), { value: 1, version: version! });
  await Promise.all([one.stop(), other.stop()]);
});

Deno.test("records of the framework are not among those of programs", () =>
  inMemory(async (records, app) => {
    const visit = session(v.string(), { store: recordSessions() });
    app.post("/", { deps: { visit } }, async (_request, { visit }) => await visit.set("Ada"));
    assertEquals((await app.fetch(new Request("http://localhost/", { method: "POST" }))).status, 204);
    await records.set(["b"], 1);
    assertEquals((await Array.fromAsync(records.list([]))).map(({ key }) => key), [["b"]]);
  }));

Deno.test("a store of topics without records says so, and how to give it some", async () => {
  const app = new App({ topics: { append: () => {}, close: () => Promise.resolve() } as unknown as TopicStore });
  await assertRejects(
    () => app.records.get(["a"]),
    TypeError,
    "Cannot use the records: the store of topics that the App was given has none, give it openRecords()",
  );
  await app.stop();
});
