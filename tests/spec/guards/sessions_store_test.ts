// Section 2 of the contract of guards, `session`: "`store: memorySessions()` […] keeps the data on
// the server and a random id in the cookie; `clear` removes both".

import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { memorySessions, session, type SessionOptions, type SessionStore } from "@webfw/core/auth";
import type { SessionWrite } from "@webfw/core/types";
import { timeout } from "@webfw/core/middleware";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { Serving } from "../support/serving.ts";
import { Visitor } from "../support/visitor.ts";

const User = v.object({ userId: v.number() });
const NAME = "__Host-session";
const DAY = 86_400_000;

/** A store that shows what is in it. */
class OpenStore implements SessionStore {
  readonly entries = new Map<string, string>();
  readonly writes: SessionWrite[] = [];
  fails = false;

  async get(key: string): Promise<string | null> {
    if (this.fails) throw new Error("the store is away");
    return this.entries.get(key) ?? null;
  }

  async set(key: string, value: string, write: SessionWrite): Promise<boolean> {
    if (this.fails) throw new Error("the store is away");
    this.writes.push(write);
    const earlier = this.entries.get(key);
    if (write.mustExist && earlier === undefined) return false;
    if (write.expect !== undefined && earlier !== write.expect) return false;
    this.entries.set(key, value);
    return true;
  }

  async delete(key: string): Promise<boolean> {
    return this.entries.delete(key);
  }
}

function appWith(store: SessionStore, options: Partial<SessionOptions> = {}): App {
  const visit = session(User, { ...options, store, subject: ({ userId }) => userId });
  const app = new App();
  app.post("/login/{id}", { params: { id: v.number() }, deps: { visit } }, async (_request, { id, visit }) => {
    await visit.set({ userId: id });
  });
  app.post("/twice", { deps: { visit } }, async (_request, { visit }) => {
    await Promise.all([visit.set({ userId: 1 }), visit.set({ userId: 2 }), visit.set({ userId: 2 })]);
  });
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
  app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
  app.get("/me", { deps: { user: visit.required() } }, async (_request, { user }) => user.data.userId);
  return app;
}

Deno.test("the data is on the server, and a random id in the cookie; no secret is needed", async () => {
  const store = new OpenStore();
  const visitor = new Visitor(appWith(store));
  await visitor.post("/login/7");
  const id = visitor.cookies.get(NAME)!;
  assertMatch(id, /^[\w-]{43}$/);
  assertEquals([await visitor.get("/visit"), await visitor.get("/me")], [{ userId: 7 }, 7]);
  const [[key, value]] = [...store.entries] as [[string, string]];
  assertMatch(value, /^\[\d{13},\{"userId":7\},"[0-9a-f-]{36}"\]$/);
  assertEquals(store.writes, [{ expiresIn: 14 * DAY, mustExist: false }]);
  // Who reads the store cannot make a cookie from it.
  assertMatch(key, /^[\da-f]{64}$/);
  assertNotEquals(key, id);
  const thief = new Visitor(appWith(store));
  thief.cookies.set(NAME, key);
  assertEquals(await thief.get("/visit"), null);
});

Deno.test("session fixation: the id is renewed by a sign-in, and a planted one is good for nothing", async () => {
  const store = new OpenStore();
  const app = appWith(store);
  const attacker = new Visitor(app);
  await attacker.post("/login/666");
  const planted = attacker.cookies.get(NAME)!;
  const victim = new Visitor(app);
  victim.cookies.set(NAME, planted);
  await victim.post("/login/7");
  assertNotEquals(victim.cookies.get(NAME), planted);
  assertEquals([await victim.get("/me"), await attacker.get("/me"), store.entries.size], [7, 401, 1]);

  const invented = new Visitor(app);
  invented.cookies.set(NAME, "A".repeat(43));
  await invented.post("/login/8");
  assertNotEquals(invented.cookies.get(NAME), "A".repeat(43));
});

Deno.test("clear removes both: a copied cookie is good for nothing after it", async () => {
  const store = new OpenStore();
  const app = appWith(store);
  const visitor = new Visitor(app);
  await visitor.post("/login/7");
  const copy = new Visitor(app);
  copy.cookies.set(NAME, visitor.cookies.get(NAME)!);
  assertEquals(await copy.get("/me"), 7);
  await visitor.post("/logout");
  assertEquals([visitor.cookies.size, store.entries.size, await copy.get("/me")], [0, 0, 401]);
});

Deno.test("two sets in one request, one after the other or at once, leave one session", async () => {
  const store = new OpenStore();
  const visitor = new Visitor(appWith(store));
  await visitor.post("/login/7");
  await visitor.post("/twice");
  assertEquals([await visitor.get("/visit"), store.entries.size], [{ userId: 2 }, 1]);
});

Deno.test("an id for another cookie finds nothing, in the same store", async () => {
  const store = memorySessions();
  const visitor = new Visitor(appWith(store));
  await visitor.post("/login/7");
  const other = new Visitor(appWith(store, { cookie: { name: "admin" } }));
  other.cookies.set("__Host-admin", visitor.cookies.get(NAME)!);
  assertEquals(await other.get("/visit"), null);
});

Deno.test("garbage for an id does not reach the store", async () => {
  const store = new OpenStore();
  store.fails = true;
  const visitor = new Visitor(appWith(store));
  for (const id of ["", "x", "x".repeat(42), "x".repeat(44), "x".repeat(2 ** 20), `${"x".repeat(42)}*`]) {
    visitor.cookies.set(NAME, id);
    assertEquals(await visitor.get("/visit"), null);
  }
});

Deno.test("what the store holds and nobody can read is no session; a store that fails is a 500 in the log", async () => {
  const store = new OpenStore();
  const visitor = new Visitor(appWith(store));
  await visitor.post("/login/7");
  const [key] = [...store.entries.keys()] as [string];
  for (
    const value of ["", "{", "[]", "null", "[1,2,3]", `[${Date.now()},{"name":"Ada"},"id"]`, '["x",{"userId":7},"id"]']
  ) {
    store.entries.set(key, value);
    assertEquals(await visitor.get("/visit"), null, value);
  }
  store.fails = true;
  using log = new CapturedLog();
  assertEquals([await visitor.get("/visit"), await visitor.post("/login/7")], [500, 500]);
  assert(log.lines.every((line) => line.includes("the store is away")));
});

Deno.test("maxAge is kept on the server, also if the store forgets nothing", async () => {
  using clock = new MovedClock();
  for (const store of [new OpenStore(), memorySessions()]) {
    const visitor = new Visitor(appWith(store, { maxAge: "1h" }));
    await visitor.post("/login/7");
    clock.advance(3_500_000);
    assertEquals(await visitor.get("/me"), 7);
    clock.advance(200_000);
    assertEquals(await visitor.get("/me"), 401);
  }
});

Deno.test("renew keeps the id, and brings back no session that was cleared", async () => {
  using clock = new MovedClock();
  const store = new OpenStore();
  const app = appWith(store, { maxAge: "1h", renew: true });
  const visitor = new Visitor(app);
  await visitor.post("/login/7");
  const id = visitor.cookies.get(NAME);
  clock.advance(2_000_000);
  const response = await visitor.send("/visit");
  assertEquals([await response.json(), response.headers.getSetCookie().length], [{ userId: 7 }, 1]);
  const { expect, ...write } = store.writes.at(-1)!;
  assertEquals([visitor.cookies.get(NAME), write], [id, { expiresIn: 3_600_000, mustExist: true }]);
  assertMatch(expect!, /^\[\d{13},\{"userId":7\},/);
  clock.advance(2_000_000);
  assertEquals(await visitor.get("/me"), 7);
  // Another request clears it while this one renews it.
  clock.advance(2_000_000);
  const { get } = store;
  store.get = async (key) => {
    const value = await get.call(store, key);
    store.entries.delete(key);
    return value;
  };
  await visitor.get("/visit");
  assertEquals(store.entries.size, 0);
});

Deno.test("parallel requests read one session, and signing out ends it for all", async () => {
  const app = appWith(memorySessions());
  const visitor = new Visitor(app);
  await visitor.post("/login/7");
  const answers = await Promise.all(Array.from({ length: 20 }, () => visitor.get("/me")));
  assertEquals(new Set(answers), new Set([7]));
  const copy = new Visitor(app);
  copy.cookies.set(NAME, visitor.cookies.get(NAME)!);
  await visitor.post("/logout");
  assertEquals(await Promise.all(Array.from({ length: 5 }, () => copy.get("/me"))), [401, 401, 401, 401, 401]);
});

Deno.test("a session that was not sent with the reply is not left in the store", async () => {
  const store = new OpenStore();
  const visit = session(User, { store, subject: ({ userId }) => userId });
  const app = new App();
  const replied = Promise.withResolvers<void>();
  let late: Promise<void> | undefined;
  const set = store.set.bind(store);
  store.set = async (...args) => {
    await replied.promise;
    return await set(...args);
  };
  using _log = new CapturedLog();
  app.middleware(timeout("5ms"));
  app.post("/", { deps: { visit } }, async (_request, { visit }) => {
    late = visit.set({ userId: 1 });
    await late;
  });
  await using serving = await Serving.start(app);
  const response = await fetch(serving.origin, { method: "POST" });
  assertEquals([response.status, response.headers.getSetCookie()], [503, []]);
  await response.body?.cancel();
  replied.resolve();
  await assertRejects(() => late!, TypeError, "the reply has begun before it was done");
  assertEquals(store.entries.size, 0);
});

Deno.test("a secret beside a store is checked", async () => {
  const visitor = new Visitor(appWith(memorySessions(), { secret: "0b72d3c1".repeat(4) }));
  await visitor.post("/login/7");
  assertMatch(visitor.cookies.get(NAME)!, /^[\w-]{43}$/);
  await assertRejects(() => appWith(memorySessions(), { secret: () => "short" }).start(), Error, "has 5 characters");
});

Deno.test("a copied seal stays good until maxAge, also after clear: only a store makes sign-out hold", async () => {
  using clock = new MovedClock();
  const visit = session(User, { secret: "0b72d3c1".repeat(4), maxAge: "1h" });
  const app = new App();
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
  app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
  const visitor = new Visitor(app);
  await visitor.post("/login");
  const copy = new Visitor(app);
  copy.cookies.set(NAME, visitor.cookies.get(NAME)!);
  await visitor.post("/logout");
  assertEquals([await visitor.get("/visit"), await copy.get("/visit")], [null, { userId: 7 }]);
  clock.advance(3_700_000);
  assertEquals(await copy.get("/visit"), null);
});
