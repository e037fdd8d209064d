// Section 2 of the contract of guards, `session`: "`set` renews the id exactly where the subject
// changes, so that an id from before a sign-in is worth nothing after it, and it stays where the
// subject stays, so that other requests of the page and a repetition whose first answer was lost go
// on", and "`set` in a request whose session was cleared meanwhile stores nothing".

import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { memorySessions, recordSessions, session, type SessionOptions, type SessionStore } from "@webfw/core/auth";
import type { RecordSessions } from "@webfw/core/types";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";
import { Visitor } from "../support/visitor.ts";

const Data = v.object({ userId: v.nullable(v.number()), cart: v.array(v.string()) });
type Data = v.InferOutput<typeof Data>;

const NAME = "__Host-session";
const SECRET = "0b72d3c1".repeat(4);
const subject = ({ userId }: Data) => userId;

/** A shop whose slow routes wait for a gate, after they have read the session. */
class Shop {
  readonly app: App;
  #opened = Promise.withResolvers<void>();
  #gate = Promise.withResolvers<void>();

  constructor(options: SessionOptions<Data>, appOptions: AppOptions = {}) {
    const visit = session(Data, options);
    const user = visit.required();
    const app = this.app = new App(appOptions);
    const slow = async () => {
      this.#opened.resolve();
      await this.#gate.promise;
    };
    app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
    app.get("/me", { deps: { user } }, async (_request, { user }) => user.data.userId);
    app.post(
      "/login/{id}",
      { params: { id: v.nullable(v.number()) }, deps: { visit } },
      async (_request, { id, visit }) => {
        await visit.set({ userId: id, cart: visit.data?.cart ?? [] });
      },
    );
    app.post("/slow/login/{id}", { params: { id: v.number() }, deps: { visit } }, async (_request, { id, visit }) => {
      await slow();
      await visit.set({ userId: id, cart: [] });
      return visit.data;
    });
    app.post("/cart/{item}", { deps: { visit } }, async (_request, { item, visit }) => {
      await visit.set({ userId: visit.data?.userId ?? null, cart: [...visit.data?.cart ?? [], item] });
    });
    app.post("/slow/cart/{item}", { deps: { user } }, async (_request, { item, user }) => {
      await slow();
      await user.set({ ...user.data, cart: [...user.data.cart, item] });
      // A set that stored nothing is no reason to begin anew.
      await user.set({ ...user.data, cart: [...user.data.cart, item] });
    });
    app.post("/slow/regenerate", { deps: { user } }, async (_request, { user }) => {
      await slow();
      const { data } = user;
      await user.clear();
      await user.set(data);
    });
    app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
  }

  /** Begins a slow request, lets others come between, and gives its reply. */
  async between(begin: () => Promise<Response>, run: () => Promise<void>): Promise<Response> {
    this.#opened = Promise.withResolvers();
    this.#gate = Promise.withResolvers();
    const pending = begin();
    await this.#opened.promise;
    await run();
    this.#gate.resolve();
    return await pending;
  }
}

/** A second browser tab: it shares the cookies that the first one has now. */
function copyOf(visitor: Visitor, app: App): Visitor {
  const copy = new Visitor(app);
  for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
  return copy;
}

const STORES: Readonly<Record<string, () => SessionStore | RecordSessions>> = {
  "in memory": () => memorySessions(),
  "in the records": () => recordSessions(),
};

for (const [where, makeStore] of Object.entries(STORES)) {
  Deno.test(`set keeps the id where the subject stays: parallel requests of a page go on, ${where}`, async () => {
    const shop = new Shop({ store: makeStore(), subject });
    const page = new Visitor(shop.app);
    await page.post("/login/7");
    const id = page.cookies.get(NAME);
    const tab = copyOf(page, shop.app);
    const reply = await shop.between(() => page.send("/slow/cart/tea", { method: "POST" }), async () => {
      assertEquals(await Promise.all(Array.from({ length: 6 }, () => tab.get("/me"))), [7, 7, 7, 7, 7, 7]);
    });
    assertEquals([reply.status, page.cookies.get(NAME)], [204, id]);
    assertEquals(await tab.get("/visit"), { userId: 7, cart: ["tea", "tea"] });
    // The browser keeps the cookie for longer, too.
    assertMatch(reply.headers.get("set-cookie")!, /Max-Age=1209600/);
    await shop.app.stop();
  });

  Deno.test(`a repetition goes on whose first reply was lost, ${where}`, async () => {
    const { app } = new Shop({ store: makeStore(), subject });
    const phone = new Visitor(app);
    await phone.post("/login/7");
    const cookie = `${NAME}=${phone.cookies.get(NAME)}`;
    for (let round = 0; round < 3; round++) {
      const request = new Request("http://localhost/cart/tea", { method: "POST", headers: { cookie } });
      assertEquals((await app.fetch(request)).status, 204);
    }
    assertEquals(await phone.get("/visit"), { userId: 7, cart: ["tea", "tea", "tea"] });
    await app.stop();
  });

  Deno.test(`set renews the id exactly where the subject changes, and the one before ends, ${where}`, async () => {
    const { app } = new Shop({ store: makeStore(), subject });
    const browser = new Visitor(app);
    await browser.post("/cart/tea");
    await browser.post("/cart/milk");
    const ids = [browser.cookies.get(NAME)!];
    for (const user of ["7", "8", "null", "8"]) {
      await browser.post(`/login/${user}`);
      ids.push(browser.cookies.get(NAME)!);
      assertEquals(await browser.get("/visit"), { userId: JSON.parse(user), cart: ["tea", "milk"] });
    }
    assertEquals(new Set(ids).size, 5);
    const attacker = new Visitor(app);
    for (const planted of ids.slice(0, -1)) {
      attacker.cookies.set(NAME, planted);
      assertEquals([await attacker.get("/visit"), await attacker.get("/me")], [null, 401]);
    }
    await app.stop();
  });

  for (const [how, options] of [["with a subject", { subject }], ["without one", {}]] as const) {
    Deno.test(`set in a request whose session was cleared meanwhile stores nothing, ${how}, ${where}`, async () => {
      using _log = new CapturedLog();
      const shop = new Shop({ store: makeStore(), ...options });
      for (const path of ["/slow/cart/tea", "/slow/regenerate"]) {
        const owner = new Visitor(shop.app);
        await owner.post("/login/7");
        const thief = copyOf(owner, shop.app);
        const reply = await shop.between(() => thief.send(path, { method: "POST" }), async () => {
          assertEquals(await owner.post("/logout"), null);
        });
        assertEquals(reply.status, 204);
        const lines = reply.headers.getSetCookie().filter((line) => !line.includes("Expires=Thu, 01 Jan 1970"));
        assertEquals([lines, await thief.get("/me")], [[], 401], path);
      }
      await shop.app.stop();
    });
  }

  Deno.test(`a reply that comes late does not replace the cookie of a later sign-in, ${where}`, async () => {
    const shop = new Shop({ store: makeStore(), subject });
    const browser = new Visitor(shop.app);
    await browser.post("/login/7");
    await shop.between(() => browser.send("/slow/cart/tea", { method: "POST" }), async () => {
      await browser.post("/logout");
      await browser.post("/login/8");
    });
    assertEquals(await browser.get("/visit"), { userId: 8, cart: [] });
    await shop.between(() => browser.send("/slow/cart/tea", { method: "POST" }), async () => {
      await browser.post("/login/9");
    });
    assertEquals(await browser.get("/visit"), { userId: 9, cart: [] });
    await shop.app.stop();
  });

  Deno.test(`a sign-in that was sent twice at once signs in, though a visitor's session ended, ${where}`, async () => {
    const shop = new Shop({ store: makeStore(), subject });
    const browser = new Visitor(shop.app);
    await browser.post("/cart/tea");
    const second = copyOf(browser, shop.app);
    const reply = await shop.between(() => second.send("/slow/login/7", { method: "POST" }), async () => {
      await browser.post("/login/7");
    });
    assertEquals([await reply.json(), await second.get("/me"), await browser.get("/me")], [
      { userId: 7, cart: [] },
      7,
      7,
    ]);
    // What a user's session may do must not come back.
    await browser.post("/login/7");
    const thief = copyOf(browser, shop.app);
    await shop.between(() => thief.send("/slow/login/8", { method: "POST" }), async () => {
      await browser.post("/logout");
    });
    assertEquals(await thief.get("/me"), 401);
    await shop.app.stop();
  });
}

Deno.test("of parallel sets the last one counts, and there is one session", async () => {
  const app = new Shop({ store: recordSessions(), subject }).app;
  const page = new Visitor(app);
  await page.post("/login/7");
  const items = Array.from({ length: 8 }, (_, index) => `item${index}`);
  assertEquals(await Promise.all(items.map((item) => page.post(`/cart/${item}`))), items.map(() => null));
  const { cart } = await page.get("/visit") as Data;
  assert(cart.length >= 1 && items.includes(cart.at(-1)!));
  assertEquals(await page.get("/me"), 7);
  await app.stop();
});

Deno.test("nodes that share a file: a set of one is seen by the other, and so is a sign-out", async () => {
  await using folder = await TemporaryFolder.make();
  const topics = folder.within("store.sqlite");
  const [one, other] = [
    new Shop({ store: recordSessions(), subject }, { topics }),
    new Shop({ store: recordSessions(), subject }, { topics }),
  ];
  const here = new Visitor(one.app);
  await here.post("/login/7");
  const there = copyOf(here, other.app);
  const reply = await one.between(() => here.send("/slow/cart/tea", { method: "POST" }), async () => {
    assertEquals(await there.post("/cart/milk"), null);
  });
  assertEquals([reply.status, await there.get("/me")], [204, 7]);
  const late = await one.between(() => here.send("/slow/cart/tea", { method: "POST" }), async () => {
    assertEquals(await there.post("/logout"), null);
  });
  assertEquals([late.headers.getSetCookie(), await here.get("/me")], [[], 401]);
  await Promise.all([one.app.stop(), other.app.stop()]);
});

Deno.test("a renewal neither undoes a set of the same moment, nor sends the cookie of a session that has ended", async () => {
  using clock = new MovedClock();
  for (const isCleared of [false, true]) {
    const store = memorySessions();
    const { get } = store;
    const { app } = new Shop({ store, subject, maxAge: "10d", renew: true });
    const page = new Visitor(app);
    await page.post("/login/7");
    clock.advance(6 * 86_400_000);
    const tab = copyOf(page, app);
    // The reader has the old data when the other request changes it.
    store.get = async (key) => {
      const value = await get.call(store, key);
      store.get = get;
      await page.post(isCleared ? "/logout" : "/cart/tea");
      return value;
    };
    const reply = await tab.send("/visit");
    assertEquals(await reply.json(), { userId: 7, cart: [] });
    assertEquals([reply.headers.getSetCookie(), await tab.get("/visit")], [
      [],
      isCleared ? null : { userId: 7, cart: ["tea"] },
    ]);
  }
});

Deno.test("without `subject` each `set` renews the id, and the one before ends at once", async () => {
  using _log = new CapturedLog();
  const { app } = new Shop({ store: memorySessions() });
  const page = new Visitor(app);
  await page.post("/login/7");
  const tab = copyOf(page, app);
  await page.post("/cart/tea");
  assertNotEquals(page.cookies.get(NAME), tab.cookies.get(NAME));
  assertEquals([await tab.get("/me"), await page.get("/me")], [401, 7]);
});

Deno.test("a session in a store without `subject`: said once in the log at the start", async () => {
  const linesOf = async (options: SessionOptions<Data>) => {
    using log = new CapturedLog();
    const { app } = new Shop(options);
    app.openapi();
    assertEquals(log.text, "");
    for (let starts = 0; starts < 2; starts++) {
      await app.start();
      await app.stop();
    }
    return log.lines;
  };
  const lines = await linesOf({ store: memorySessions() });
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, "WARN Each set of a session signs out the requests that run beside it");
  assertStringIncludes(lines[0]!, "subject: (data) => data.userId");
  assertEquals(await linesOf({ store: memorySessions(), subject }), []);
  assertEquals(await linesOf({ secret: SECRET }), []);
});

Deno.test("a sealed session: parallel requests go on, and the data of the last reply counts", async () => {
  const { app } = new Shop({ secret: SECRET, subject });
  const page = new Visitor(app);
  await page.post("/login/7");
  const tab = copyOf(page, app);
  await page.post("/cart/tea");
  assertEquals([await tab.get("/me"), await page.get("/visit")], [7, { userId: 7, cart: ["tea"] }]);
});

Deno.test("a `subject` that gives no string, number or null is an error of set", async () => {
  for (const given of [undefined, NaN, true, {}, Promise.resolve(7)]) {
    using log = new CapturedLog();
    const { app } = new Shop({ store: memorySessions(), subject: () => given as never });
    assertEquals(await new Visitor(app).post("/login/7"), 500);
    assertStringIncludes(log.text, "must give a string, a number or null, got");
  }
  const error = assertThrows(
    () => session(Data, { secret: SECRET, subject: "userId" as unknown as typeof subject }),
    TypeError,
  );
  assertStringIncludes(error.message, '"subject" must be a function, write subject: (data) => data.userId');
});
