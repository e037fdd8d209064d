// Section 2 of the contract of guards, `session`: "sealed (encrypted and authenticated) cookie by
// `iron-webcrypto`", its secrets, its cookie, and what it refuses.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { App, HTTPError, type HttpRequest } from "@webfw/core";
import { memorySessions, session, type SessionOptions } from "@webfw/core/auth";
import { timeout } from "@webfw/core/middleware";
import { defaults, seal } from "npm:iron-webcrypto@^2.0.0";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { RawSocket } from "../support/raw_socket.ts";
import { Serving } from "../support/serving.ts";
import { Visitor } from "../support/visitor.ts";

const SECRET = "0b72d3c1".repeat(4);
const OTHER = "f2a95c10".repeat(4);
const User = v.object({ userId: v.number() });
const NAME = "__Host-session";
const DAY = 86_400_000;

/** An application with a session of a user. */
function appWith(options: SessionOptions): App {
  const visit = session(User, options);
  const app = new App();
  app.post("/login/{id}", { params: { id: v.number() }, deps: { visit } }, async (_request, { id, visit }) => {
    await visit.set({ userId: id });
    return visit.data;
  });
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => {
    await visit.clear();
    return visit.data;
  });
  app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
  app.get("/me", { deps: { user: visit.required() } }, async (_request, { user }) => user.data.userId);
  return app;
}

Deno.test("set begins a session, data is what it holds, and clear ends it", async () => {
  const visitor = new Visitor(appWith({ secret: SECRET }));
  assertEquals(await visitor.get("/visit"), null);
  assertEquals(await visitor.post("/login/7"), { userId: 7 });
  assertEquals([await visitor.get("/visit"), await visitor.get("/me")], [{ userId: 7 }, 7]);
  assertEquals(await visitor.post("/login/8"), { userId: 8 });
  assertEquals(await visitor.get("/visit"), { userId: 8 });
  assertEquals(await visitor.post("/logout"), null);
  assertEquals([visitor.cookies.size, await visitor.get("/visit"), await visitor.get("/me")], [0, null, 401]);
});

Deno.test("the cookie is __Host-session where it is secure, of / and without a domain", async () => {
  const lineOf = async (options: Omit<SessionOptions, "secret" | "store">) => {
    const response = await new Visitor(appWith({ secret: SECRET, ...options })).send("/login/7", { method: "POST" });
    return response.headers.get("set-cookie")!.replace(/=Fe26\.2[^;]+/, "=…");
  };
  const end = "Max-Age=1209600; SameSite=Lax; Path=/";
  assertEquals(await lineOf({}), `__Host-session=…; Secure; HttpOnly; ${end}`);
  assertEquals(await lineOf({ cookie: { name: "__Host-session" } }), `__Host-session=…; Secure; HttpOnly; ${end}`);
  assertEquals(await lineOf({ cookie: { secure: false } }), `session=…; HttpOnly; ${end}`);
  assertEquals(
    await lineOf({ cookie: { name: "sid", domain: "books.example", sameSite: "strict" }, maxAge: "90s" }),
    "sid=…; Secure; HttpOnly; Max-Age=90; Domain=books.example; SameSite=Strict; Path=/",
  );
  assertEquals(
    await lineOf({ cookie: { path: "/shop", sameSite: "none" } }),
    "session=…; Secure; HttpOnly; Max-Age=1209600; SameSite=None; Path=/shop",
  );
});

Deno.test("the cookie is encrypted, and never the same twice", async () => {
  const visitor = new Visitor(appWith({ secret: SECRET }));
  await visitor.post("/login/123456");
  const first = visitor.cookies.get(NAME)!;
  assertMatch(first, /^Fe26\.2\*/);
  assert(!first.includes("123456") && !first.includes(btoa("123456")));
  await visitor.post("/login/123456");
  assertNotEquals(visitor.cookies.get(NAME), first);
});

Deno.test("a cookie that cannot be opened is no session, never an error", async () => {
  const app = appWith({ secret: SECRET });
  const visitor = new Visitor(app);
  await visitor.post("/login/7");
  const good = visitor.cookies.get(NAME)!;
  const bad = [
    "",
    "Fe26.2",
    "*******",
    "Fe26.2*******",
    good.slice(0, -1),
    good.slice(1),
    good + "x",
    good.replace("Fe26.2*", "Fe26.2*x"),
    good.replace(/\*[0-9a-f]{8}\*/, "*constructor*"),
    good.replace(/^(Fe26\.2\*)[0-9a-f]{8}/, "$1__proto__"),
    good.replace(/^(Fe26\.2\*)[0-9a-f]{8}/, "$1"),
    // Another expiration date.
    good.replace(/\*(\d{13})\*/, (_, time) => `*${Number(time) + 1}*`),
    // One bit of each part.
    ...good.split("*").map((part, index, parts) =>
      parts.with(index, part.replace(/^./, (first) => first === "A" ? "B" : "A")).join("*")
    ),
    "x".repeat(4_097),
    `Fe26.2*${"a*".repeat(2_000)}`,
    "%00%ff",
    "é".repeat(10),
  ];
  using log = new CapturedLog();
  for (const value of bad.filter((value) => value !== good)) {
    const headers = { cookie: `${NAME}=${value}` };
    const response = await app.fetch(
      new Request("http://localhost/visit", { headers: encodeURI(value) === value ? headers : {} }),
    );
    assertEquals([response.status, await response.json()], [200, null], value.slice(0, 80));
  }
  assertEquals(await visitor.get("/visit"), { userId: 7 });
  assertEquals(log.text, "");
});

Deno.test("cookies of 1 MB and many of the same name: the first one counts, and only one is opened", async () => {
  const app = appWith({ secret: SECRET });
  const visitor = new Visitor(app);
  await visitor.post("/login/7");
  const good = visitor.cookies.get(NAME)!;
  const ask = async (cookie: string) =>
    await (await app.fetch(new Request("http://localhost/visit", { headers: { cookie } }))).json();
  assertEquals(await ask(`${NAME}=${"x".repeat(2 ** 20)}`), null);
  assertEquals(await ask(`${NAME}=${good}${"*".repeat(2 ** 20)}`), null);
  const many = Array.from({ length: 5_000 }, (_, index) => `${NAME}=${index}`).join("; ");
  assertEquals(await ask(`${NAME}=${good}; ${many}`), { userId: 7 });
  assertEquals(await ask(`${many}; ${NAME}=${good}`), null);
});

Deno.test("a byte that only JavaScript takes for a space does not make a cookie that any host may set a `__Host-` one", async () => {
  const app = appWith({ secret: SECRET });
  const visitor = new Visitor(app);
  await visitor.post("/login/7");
  const good = visitor.cookies.get(NAME)!;
  const ask = async (cookie: string) =>
    await (await app.fetch(new Request("http://localhost/visit", { headers: { cookie } }))).json();
  for (const space of ["\u00a0", "\u000b", "\u000c", "=", "= "]) {
    assertEquals(await ask(`a=1; ${space}${NAME}=${good}`), null, JSON.stringify(space));
    assertEquals(await ask(`a=1; ${NAME}${space}=${good}`), null, JSON.stringify(space));
  }
  for (const space of ["", " ", "\t", " \t "]) {
    assertEquals(await ask(`a=1;${space}${NAME}${space}=${good}${space};;`), { userId: 7 }, JSON.stringify(space));
  }
});

Deno.test("a seal for another cookie, or of iron with the same secret, is no session", async () => {
  const app = appWith({ secret: SECRET, cookie: { secure: false } });
  const other = new Visitor(appWith({ secret: SECRET, cookie: { secure: false, name: "other" } }));
  await other.post("/login/7");
  const visitor = new Visitor(app);
  visitor.cookies.set("session", other.cookies.get("other")!);
  assertEquals(await visitor.get("/visit"), null);
  for (const data of [{ userId: 7 }, [Date.now(), { userId: 7 }]]) {
    visitor.cookies.set("session", await seal(data, SECRET, defaults));
    assertEquals(await visitor.get("/visit"), null);
  }
});

Deno.test("data that does not fit the schema is no session", async () => {
  const old = session(v.object({ name: v.string() }), { secret: SECRET });
  const app = new App();
  app.post("/", { deps: { old } }, async (_request, { old }) => await old.set({ name: "Ada" }));
  const visitor = new Visitor(app);
  await visitor.post("/");
  const now = new Visitor(appWith({ secret: SECRET }));
  now.cookies.set(NAME, visitor.cookies.get(NAME)!);
  assertEquals([await now.get("/visit"), await now.get("/me")], [null, 401]);

  const failing = v.pipe(
    v.object({ name: v.string() }),
    v.transform((): { userId: number } => {
      throw new Error("not this data");
    }),
  );
  const broken = new App();
  broken.get("/", { deps: { visit: session(failing, { secret: SECRET }) } }, async (_request, { visit }) => visit.data);
  const last = new Visitor(broken);
  last.cookies.set(NAME, visitor.cookies.get(NAME)!);
  assertEquals(await last.get("/"), null);
});

Deno.test("secret may be a list: the first seals and all open", async () => {
  const before = new Visitor(appWith({ secret: OTHER }));
  await before.post("/login/7");
  const sealed = before.cookies.get(NAME)!;
  const rotated = new Visitor(appWith({ secret: [SECRET, OTHER] }));
  rotated.cookies.set(NAME, sealed);
  assertEquals(await rotated.get("/me"), 7);
  await rotated.post("/login/8");
  const after = new Visitor(appWith({ secret: SECRET }));
  after.cookies.set(NAME, rotated.cookies.get(NAME)!);
  assertEquals(await after.get("/me"), 8);
  before.cookies.set(NAME, rotated.cookies.get(NAME)!);
  after.cookies.set(NAME, sealed);
  assertEquals([await before.get("/me"), await after.get("/me")], [401, 401]);
});

Deno.test("secret may be a function, called at the start, and what is wrong with it is an error there", async () => {
  let calls = 0;
  const app = appWith({
    secret: async () => {
      calls++;
      return SECRET;
    },
  });
  app.openapi();
  assertEquals(calls, 0);
  await app.start();
  await new Visitor(app).post("/login/7");
  assertEquals(calls, 1);
  await app.stop();
  await app.start();
  assertEquals(calls, 2);

  const order: string[] = [];
  for (
    const [secret, words] of [
      [() => undefined, 'the secret of the session "session" is missing, set it to at least 32 random characters'],
      [async () => "", "is missing"],
      [() => [], "is missing"],
      [() => "s3cr3t", "has 6 characters, set it to at least 32 random characters"],
      [() => [SECRET, "s3cr3t"], "has 6 characters"],
      [() => 7 as unknown as string, "must be a string or an array of strings, got number"],
    ] as const
  ) {
    const failing = appWith({ secret });
    failing.lifespan(async function* () {
      order.push("lifespan");
      yield;
    });
    const { message } = await assertRejects(() => failing.start(), Error);
    assertStringIncludes(message, "Cannot start the application: the secret of ");
    assertStringIncludes(message, words);
    assert(!message.includes("s3cr3t"));
  }
  assertEquals(order, []);
});

Deno.test("a wrong declaration throws where it is made", () => {
  const cases: [unknown, string][] = [
    [{}, 'Cannot make a session: the secret of the session "session" is missing'],
    [{}, '"openssl rand -base64 32", or give a store, such as recordSessions()'],
    [{ secret: undefined }, "is missing"],
    [{ secret: "short" }, "has 5 characters"],
    [{ secret: "x".repeat(31) }, "has 31 characters"],
    [{ secret: [SECRET, ""] }, "is missing"],
    [{ secret: SECRET, maxage: "1d" }, 'the option "maxage" is unknown, the nearest is "maxAge"'],
    [{ secret: SECRET, cookie: { samesite: "lax" } }, 'the option "cookie.samesite" is unknown'],
    [{ secret: SECRET, cookie: { sameSite: "Lax" } }, '"cookie.sameSite" must be "strict", "lax" or "none"'],
    [{ secret: SECRET, cookie: { sameSite: "none", secure: false } }, 'browsers refuse sameSite "None" without secure'],
    [{ secret: SECRET, cookie: { name: "__Host-x", secure: false } }, "without secure"],
    [{ secret: SECRET, cookie: { name: "__Host-x", path: "/a" } }, 'needs the path "/" and no domain'],
    [{ secret: SECRET, cookie: { name: "a b" } }, "its name must be a token"],
    [{ secret: SECRET, renew: "yes" }, '"renew" must be true or false'],
    [{ store: {} }, '"store" must have get, set and delete'],
    [{ secret: SECRET, scheme: "a b" }, "has a name that the document cannot hold"],
  ];
  for (const [options, words] of cases) {
    assertStringIncludes(assertThrows(() => session(User, options as SessionOptions), TypeError).message, words);
  }
  assertThrows(() => session(User, { secret: SECRET, maxAge: "0s" }), RangeError);
  assertThrows(() => session({} as typeof User, { secret: SECRET }), TypeError, "must be a valibot schema");
  assertThrows(() => session(v.date(), { secret: SECRET }), TypeError, "cannot be read from JSON");
  const visit = session(User, { secret: SECRET });
  for (
    const redirect of ["login", "//evil.example", "/\\evil.example", "https://evil.example", "/a#b", "", "/\t/a", "/é"]
  ) {
    assertThrows(
      () => visit.required({ redirect }),
      TypeError,
      '"redirect" must be a path of the application in ASCII',
    );
  }
});

Deno.test("maxAge is 14d unless given, counted from set, and checked on the server", async () => {
  using clock = new MovedClock();
  for (const [maxAge, ms] of [[undefined, 14 * DAY], ["30d", 30 * DAY]] as const) {
    const visitor = new Visitor(appWith({ secret: SECRET, ...(maxAge && { maxAge }) }));
    await visitor.post("/login/7");
    const cookie = visitor.cookies.get(NAME);
    clock.advance(ms - 60_000);
    assertEquals(await visitor.get("/me"), 7);
    assertEquals(visitor.cookies.get(NAME), cookie);
    clock.advance(120_000);
    assertEquals([await visitor.get("/visit"), await visitor.get("/me")], [null, 401]);
  }
});

Deno.test("a shorter maxAge holds for seals of before, a longer one does not", async () => {
  using clock = new MovedClock();
  const visitor = new Visitor(appWith({ secret: SECRET, maxAge: "10d" }));
  await visitor.post("/login/7");
  const seal = visitor.cookies.get(NAME)!;
  clock.advance(5 * DAY);
  const ask = async (maxAge: "4d" | "6d" | "20d") => {
    const other = new Visitor(appWith({ secret: SECRET, maxAge }));
    other.cookies.set(NAME, seal);
    return await other.get("/visit");
  };
  assertEquals([await ask("4d"), await ask("6d")], [null, { userId: 7 }]);
  clock.advance(6 * DAY);
  assertEquals(await ask("20d"), null);
});

Deno.test("renew: true seals again when half of it is over", async () => {
  using clock = new MovedClock();
  const visitor = new Visitor(appWith({ secret: SECRET, maxAge: "10d", renew: true }));
  await visitor.post("/login/7");
  const seals = new Set([visitor.cookies.get(NAME)]);
  clock.advance(4.5 * DAY);
  await visitor.get("/visit");
  assertEquals(seals.has(visitor.cookies.get(NAME)), true);
  for (let times = 0; times < 3; times++) {
    clock.advance(5.2 * DAY);
    assertEquals(await visitor.get("/me"), 7);
    seals.add(visitor.cookies.get(NAME));
  }
  assertEquals(seals.size, 4);
  clock.advance(5.2 * DAY);
  assertEquals(await visitor.post("/logout"), null);
  assertEquals(visitor.cookies.size, 0);
});

Deno.test("beyond 4,096 bytes set throws a RangeError that names store", async () => {
  const visit = session(v.object({ text: v.string() }), { secret: SECRET });
  const app = new App();
  let thrown: unknown;
  app.post("/{size}", { params: { size: v.number() }, deps: { visit } }, async (_request, { size, visit }) => {
    await visit.set({ text: "x".repeat(size) }).catch((error) => thrown = error);
    return visit.data === null;
  });
  const visitor = new Visitor(app);
  assertEquals(await visitor.post("/2600"), false);
  assert(visitor.cookies.get(NAME)!.length > 3_500);
  visitor.cookies.clear();
  assertEquals(await visitor.post("/4000"), true);
  assert(thrown instanceof RangeError);
  assertStringIncludes(thrown.message, "4096 bytes");
  assertStringIncludes(thrown.message, "the option store");
  assertEquals(visitor.cookies.size, 0);
});

Deno.test("set takes what fits the schema and JSON, and reads what it has written", async () => {
  const schema = v.object({ since: v.pipe(v.string(), v.isoTimestamp(), v.toDate()), count: v.bigint() });
  const visit = session(schema, { secret: SECRET });
  const app = new App();
  const data: unknown[] = [{ since: "2026-01-01T00:00:00Z", count: 2n ** 60n }];
  let thrown: unknown;
  app.post("/", { deps: { visit } }, async (_request, { visit }) => {
    await visit.set(data.at(-1) as never).catch((error) => thrown = error);
    return visit.data && [visit.data.since instanceof Date, visit.data.count === 2n ** 60n];
  });
  app.get("/", { deps: { visit } }, async (_request, { visit }) => {
    return visit.data && [visit.data.since instanceof Date, visit.data.count === 2n ** 60n];
  });
  const visitor = new Visitor(app);
  assertEquals([await visitor.post("/"), await visitor.get("/")], [[true, true], [true, true]]);
  for (const wrong of [{ since: "yesterday", count: 1n }, { secret: "s3cr3t" }, undefined, null, () => 1, "s3cr3t"]) {
    data.push(wrong);
    await new Visitor(app).post("/");
    assert(thrown instanceof TypeError);
    assert(!thrown.message.includes("s3cr3t"), thrown.message);
  }
});

Deno.test("two sets in one request: the last one counts, one after the other or at once", async () => {
  const visit = session(User, { secret: SECRET });
  const app = new App();
  app.post("/after", { deps: { visit } }, async (_request, { visit }) => {
    await visit.set({ userId: 1 });
    await visit.set({ userId: 2 });
  });
  app.post("/at-once", { deps: { visit } }, async (_request, { visit }) => {
    await Promise.all([visit.set({ userId: 3 }), visit.clear(), visit.set({ userId: 4 })]);
  });
  app.get("/", { deps: { visit } }, async (_request, { visit }) => visit.data);
  for (const [path, userId] of [["/after", 2], ["/at-once", 4]] as const) {
    const visitor = new Visitor(app);
    const response = await visitor.send(path, { method: "POST" });
    assertEquals(response.headers.getSetCookie().length, 1);
    assertEquals(await visitor.get("/"), { userId });
  }
});

Deno.test("visit and its required() are one session in a request", async () => {
  const visit = session(User, { secret: SECRET });
  const app = new App();
  const deps = { visit, user: visit.required() };
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 1 }));
  app.post("/change", { deps }, async (_request, { visit, user }) => {
    await visit.set({ userId: 2 });
    const changed = user.data;
    await user.clear();
    return [changed, user.data, visit.data];
  });
  const visitor = new Visitor(app);
  await visitor.post("/login");
  assertEquals(await visitor.post("/change"), [{ userId: 2 }, { userId: 1 }, null]);
  assertEquals(visitor.cookies.size, 0);
});

Deno.test("set, then an error reply: the session is there", async () => {
  const visit = session(User, { secret: SECRET });
  const app = new App();
  app.post("/", { deps: { visit } }, async (_request, { visit }) => {
    await visit.set({ userId: 5 });
    throw new Error("the database is away");
  });
  app.get("/", { deps: { visit } }, async (_request, { visit }) => visit.data);
  const visitor = new Visitor(app);
  using _log = new CapturedLog();
  assertEquals(await visitor.post("/"), 500);
  assertEquals(await visitor.get("/"), { userId: 5 });
});

Deno.test("set and clear after the reply has begun, and on a WebSocket, throw", async () => {
  const visit = session(User, { secret: SECRET, renew: true });
  const app = new App();
  const faults: string[] = [];
  const late = async (given: { set(data: { userId: number }): Promise<void>; clear(): Promise<void> }) => {
    faults.push((await assertRejects(() => given.set({ userId: 1 }), TypeError)).message);
    faults.push((await assertRejects(() => given.clear(), TypeError)).message);
  };
  app.get("/after", { deps: { visit } }, async (request: HttpRequest, { visit }) => request.after(() => late(visit)));
  app.get("/stream", { deps: { visit } }, async function* (_request, { visit }) {
    yield 1;
    await late(visit);
  });
  app.websocket("/socket", { deps: { visit } }, async (socket, { visit }) => {
    await late(visit);
    await socket.send(`user ${visit.data?.userId}`);
  });
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
  const visitor = new Visitor(app);
  await visitor.post("/login");
  {
    await using serving = await Serving.start(app);
    await (await fetch(serving.origin + "/after")).text();
    await (await fetch(serving.origin + "/stream")).text();
    // The half of maxAge is over: it is not renewed, since nothing can be set.
    using clock = new MovedClock();
    clock.advance(10 * DAY);
    using socket = await RawSocket.open(serving.port, "/socket", { cookie: `${NAME}=${visitor.cookies.get(NAME)}` });
    assertEquals(new TextDecoder().decode((await socket.frame())!.payload), "user 7");
    await serving.stop();
  }
  assertEquals(faults.length, 6);
  assertEquals(
    faults.filter((fault) => /^Cannot (set|clear) the session "session": the reply has begun/.test(fault)).length,
    4,
  );
  assertEquals(faults.filter((fault) => /"session": a WebSocket has no reply with cookies/.test(fault)).length, 2);
});

Deno.test("in the call of a tool, whose result has no cookies, set and clear throw, and nothing is lost", async () => {
  using clock = new MovedClock();
  const visit = session(User, { store: memorySessions(), renew: true });
  const app = new App();
  const faults: string[] = [];
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
  app.post("/tool", { deps: { visit }, tool: true }, async function useTool(_request, { visit }) {
    faults.push((await assertRejects(() => visit.set({ userId: 1 }), TypeError)).message);
    faults.push((await assertRejects(() => visit.clear(), TypeError)).message);
    return visit.data;
  });
  app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
  const visitor = new Visitor(app);
  await visitor.post("/login");
  const cookie = `${NAME}=${visitor.cookies.get(NAME)}`;
  // The half of maxAge is over: it is not renewed, since nothing can be set.
  clock.advance(10 * DAY);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "useTool", arguments: {} } };
  const response = await app.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { cookie, "content-type": "application/json" },
      body: JSON.stringify(call),
    }),
  );
  assertEquals((await response.json()).result.structuredContent, { userId: 7 });
  assertEquals(response.headers.getSetCookie(), []);
  assertEquals(faults.length, 2);
  for (const fault of faults) assertMatch(fault, /"session": the call of a tool has no reply with cookies/);
  assertEquals(await visitor.get("/visit"), { userId: 7 });
});

Deno.test("a Secure cookie over http to a host that is no loopback is told once in the log", async () => {
  const logged = async (origins: string[], options: Partial<SessionOptions> = {}) => {
    const app = appWith({ secret: SECRET, ...options });
    using log = new CapturedLog();
    for (const origin of origins) await new Visitor(app, origin).post("/login/7");
    return log.lines;
  };
  const lines = await logged(["http://shop.example", "http://shop.example", "http://192.0.2.7"]);
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, "Browsers drop the session cookie");
  assertStringIncludes(lines[0]!, "trustProxy");
  const fine = [
    "http://localhost:8000",
    "http://127.0.0.1",
    "http://[::1]",
    "http://a.localhost",
    "https://shop.example",
  ];
  assertEquals(await logged(fine), []);
  assertEquals(await logged(["http://shop.example"], { cookie: { secure: false } }), []);
});

Deno.test("a reply that sets or deletes the cookie is kept by no cache, whatever the handler returns", async () => {
  using clock = new MovedClock();
  const visit = session(User, { secret: SECRET, renew: true });
  const app = new App();
  app.get("/page", { deps: { visit } }, async () => new Response("x", { headers: { "cache-control": "public" } }));
  app.get("/own", { deps: { visit } }, async (request, { visit }) => {
    request.replyHeaders.set("cache-control", "private");
    await visit.clear();
  });
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
  const visitor = new Visitor(app);
  const ask = async (path: string, method = "GET") => {
    const { headers, body } = await visitor.send(path, { method });
    await body?.cancel();
    return headers.get("cache-control");
  };
  assertEquals([await ask("/login", "POST"), await ask("/page")], ["no-store", "public"]);
  clock.advance(8 * DAY);
  assertEquals([await ask("/page"), await ask("/page"), await ask("/own")], ["no-store", "public", "private"]);
});

Deno.test("set and clear without await are done before the reply, also before that of an error", async () => {
  const store = memorySessions();
  const visit = session(User, { store });
  const other = session(User, { secret: SECRET, scheme: "other", cookie: { name: "other" } });
  const app = new App();
  app.post("/", { deps: { visit, other } }, async (_request, { visit, other }) => {
    other.set({ userId: 2 });
    visit.set({ userId: 1 });
  });
  app.post("/failure", { deps: { visit } }, async (_request, { visit }) => {
    visit.set({ userId: 3 });
    throw new HTTPError(409);
  });
  app.delete("/", { deps: { visit } }, async (_request, { visit }) => {
    visit.clear();
  });
  const visitor = new Visitor(app);
  const cookies = async (method: string, path = "/") => {
    const { headers, body } = await visitor.send(path, { method });
    await body?.cancel();
    return headers.getSetCookie().map((cookie) => cookie.split("=")[0]).sort();
  };
  assertEquals(await cookies("POST"), ["__Host-other", "__Host-session"]);
  assertEquals(await cookies("POST", "/failure"), ["__Host-session"]);
  assertEquals(await cookies("DELETE"), ["__Host-session"]);
});

Deno.test("a handler that goes on after timeout() sets no session", async () => {
  const visit = session(User, { secret: SECRET });
  const app = new App();
  const replied = Promise.withResolvers<void>();
  let late: Promise<void> | undefined;
  app.middleware(timeout("5ms"));
  app.post("/", { deps: { visit } }, async (_request, { visit }) => {
    await replied.promise;
    late = assertRejects(() => visit.set({ userId: 1 }), TypeError, "the reply has begun").then(() => {});
    await late;
  });
  await using serving = await Serving.start(app);
  const response = await fetch(serving.origin, { method: "POST" });
  assertEquals([response.status, response.headers.getSetCookie()], [503, []]);
  await response.body?.cancel();
  replied.resolve();
  await serving.stop();
  await late!;
});

Deno.test("an application that cannot read the secret, and does not start, leaves others with the same session alone", async () => {
  using _log = new CapturedLog();
  let isAway = false;
  const secret = async () => {
    if (isAway) throw new Error("The vault does not answer");
    return SECRET;
  };
  const visit = session(User, { secret });
  const [running, starting] = [new App(), new App()];
  for (const app of [running, starting]) {
    app.get("/", { deps: { visit } }, async (_request, { visit }) => ({ data: visit.data }));
  }
  const statusOf = async () => {
    const response = await running.fetch(new Request("http://localhost/"));
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await statusOf(), 200);
  isAway = true;
  await assertRejects(() => starting.start(), Error, "The vault does not answer");
  isAway = false;
  assertEquals(await statusOf(), 200);
  await Promise.all([running.stop(), starting.stop()]);
});
