// Section 2 of the contract of guards, `session`: "`store: recordSessions()` (the application's
// record store […]) keeps the data on the server and a random id in the cookie; `clear` removes
// both".

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { recordSessions, session } from "@webfw/core/auth";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { StoreWithRecords } from "../support/small_records.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";
import { Visitor } from "../support/visitor.ts";

const NAME = "__Host-session";
const DAY = 86_400_000;
const visit = session(v.object({ text: v.string() }), {
  store: recordSessions(),
  renew: true,
  subject: ({ text }) => text,
});

function appWith(topics: AppOptions["topics"] = ":memory:"): App {
  const app = new App({ topics });
  app.post("/login/{text}", { deps: { visit } }, async (_request, { text, visit }) => await visit.set({ text }));
  app.post("/large", { deps: { visit } }, async (_request, { visit }) => await visit.set({ text: "x".repeat(62_000) }));
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
  app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
  return app;
}

Deno.test("the data is in a record, and a random id in the cookie, renewed where the subject changes", async () => {
  const store = new StoreWithRecords();
  const app = appWith(store);
  const visitor = new Visitor(app);
  await visitor.post("/login/Ada");
  const id = visitor.cookies.get(NAME)!;
  assertMatch(id, /^[\w-]{43}$/);
  assertEquals(await visitor.get("/visit"), { text: "Ada" });
  const [first] = store.records.all;
  assertMatch(first!.key.at(-1)!, /^[0-9a-f]{64}$/);
  await visitor.post("/login/Grace");
  assertNotEquals(visitor.cookies.get(NAME), id);
  assertEquals(store.records.all.length, 1);
  assertEquals(await Array.fromAsync(app.records.list([])), []);
  await app.stop();
});

Deno.test("`clear` removes both", async () => {
  const store = new StoreWithRecords();
  const app = appWith(store);
  const visitor = new Visitor(app);
  await visitor.post("/login/Ada");
  const copied = new Map(visitor.cookies);
  await visitor.post("/logout");
  assertEquals([visitor.cookies.has(NAME), store.records.all], [false, []]);
  for (const [name, value] of copied) visitor.cookies.set(name, value);
  assertEquals(await visitor.get("/visit"), null);
  await app.stop();
});

Deno.test("one session of several applications is in the records of each", async () => {
  const [one, other] = [appWith(), appWith()];
  const visitor = new Visitor(one);
  await visitor.post("/login/Ada");
  const stranger = new Visitor(other);
  stranger.cookies.set(NAME, visitor.cookies.get(NAME)!);
  assertEquals(await stranger.get("/visit"), null);
  assertEquals(await visitor.get("/visit"), { text: "Ada" });
  await Promise.all([one.stop(), other.stop()]);
});

Deno.test("nodes share sessions in a durable store, and they survive a restart", async () => {
  await using folder = await TemporaryFolder.make();
  const [one, other] = [appWith(folder.within("store.sqlite")), appWith(folder.within("store.sqlite"))];
  const visitor = new Visitor(one);
  await visitor.post("/login/Ada");
  await one.stop();
  const again = new Visitor(other);
  again.cookies.set(NAME, visitor.cookies.get(NAME)!);
  assertEquals(await again.get("/visit"), { text: "Ada" });
  assertEquals(await visitor.get("/visit"), { text: "Ada" });
  await Promise.all([one.stop(), other.stop()]);
});

Deno.test("a session ends after `maxAge`; with `renew`, it is counted from the last visit", async () => {
  using clock = new MovedClock();
  const store = new StoreWithRecords();
  const app = appWith(store);
  const visitor = new Visitor(app);
  await visitor.post("/login/Ada");
  for (let visits = 0; visits < 3; visits++) {
    clock.advance(8 * DAY);
    assertEquals(await visitor.get("/visit"), { text: "Ada" });
  }
  clock.advance(15 * DAY);
  assertEquals(await visitor.get("/visit"), null);
  assertEquals(store.records.all, []);
  await app.stop();
});

Deno.test("a session that is too large is a mistake of the handler", async () => {
  using log = new CapturedLog();
  const app = appWith();
  const visitor = new Visitor(app);
  assertEquals(await visitor.post("/large"), 500);
  assertMatch(log.text, /RangeError: Cannot set the record: the value has \d+ bytes of JSON/);
  await app.stop();
});
