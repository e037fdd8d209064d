// Section 4 of the contract of work: "Keys belong to the caller".

import { assertEquals, assertNotEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { anySecurity, App, type Dependency, dependency, RouteError, Router } from "@webfw/core";
import {
  apiKey,
  basic,
  bearer,
  jwt,
  memorySessions,
  optional,
  recordSessions,
  session,
  type SessionOptions,
} from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { Visitor } from "../support/visitor.ts";

const SECRET = new TextEncoder().encode("a secret of 32 bytes or even more");

/** Asks with the key "a", and gives the number of the run that has answered. */
type Ask = (headers?: Record<string, string>, path?: string) => Promise<number>;

type Guards = Readonly<Record<string, Dependency<unknown, never>>>;

/** Runs with an application whose route counts its runs. */
async function counting(deps: Guards, body: (ask: Ask) => Promise<void>): Promise<void> {
  const app = new App();
  const router = new Router({ deps: deps as never });
  let runs = 0;
  router.post("/", { idempotent: "1h" }, async () => ++runs);
  app.include(router);
  await body(async (headers = {}, path = "/") => {
    const all = { "idempotency-key": "a", ...headers };
    const response = await app.fetch(new Request(`http://localhost${path}`, { method: "POST", headers: all }));
    assertEquals(response.status, 200);
    return await response.json();
  });
  await app.stop();
}

const authorization = (text: string) => ({ authorization: text });

function base64(text: string): string {
  return new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** A token of a subject, which expires after some seconds. */
async function tokenOf(
  sub: string | undefined,
  seconds: number,
  iss = "https://id.example",
): Promise<{ authorization: string }> {
  const exp = Math.floor(Date.now() / 1000) + seconds;
  const claims = { iss, aud: "books", exp, ...(sub !== undefined && { sub }) };
  const text = `${base64('{"alg":"HS256"}')}.${base64(JSON.stringify(claims))}`;
  const key = await crypto.subtle.importKey("raw", SECRET, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text)));
  return authorization(`Bearer ${text}.${signature.toBase64({ alphabet: "base64url", omitPadding: true })}`);
}

Deno.test("nothing where a route has no guard", () =>
  counting({}, async (ask) => {
    assertEquals([await ask(), await ask(authorization("Bearer x"))], [1, 1]);
  }));

Deno.test("the token of `bearer`, unless it has `subject: (value) => string`", async () => {
  const verify = async (token: string) => ({ id: token.split("-")[0]! });
  await counting({ user: bearer(verify) }, async (ask) => {
    const asked = ["ada-1", "ada-1", "ada-2"].map((token) => () => ask(authorization(`Bearer ${token}`)));
    assertEquals([await asked[0]!(), await asked[1]!(), await asked[2]!()], [1, 1, 2]);
  });
  await counting({ user: bearer(verify, { subject: ({ id }) => id }) }, async (ask) => {
    const tokens = ["ada-1", "ada-2", "grace-1"];
    const runs: number[] = [];
    for (const token of tokens) runs.push(await ask(authorization(`Bearer ${token}`)));
    assertEquals(runs, [1, 1, 2]);
  });
});

Deno.test("a `subject` that gives no string is a 500: callers without a name would share keys", async () => {
  for (const subject of [undefined, null, NaN, {}, Promise.resolve("ada")]) {
    using log = new CapturedLog();
    const app = new App();
    let runs = 0;
    const user = bearer(async (token) => ({ token }), { subject: () => subject as never });
    app.post("/", { deps: { user }, idempotent: "1h" }, async () => ++runs);
    const ask = async (headers: Record<string, string>) => {
      const response = await app.fetch(new Request("http://localhost/", { method: "POST", headers }));
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await ask({ ...authorization("Bearer ada"), "idempotency-key": "a" }), 500);
    assertStringIncludes(log.text, "must give a string or a number, got");
    assertEquals(await ask(authorization("Bearer ada")), 200);
    assertEquals(runs, 1);
    await app.stop();
  }
});

Deno.test('7 and "7" are two subjects', () =>
  counting({ user: bearer(async (token) => token, { subject: (token) => token === "n" ? 7 : "7" }) }, async (ask) => {
    assertEquals([await ask(authorization("Bearer n")), await ask(authorization("Bearer s"))], [1, 2]);
  }));

Deno.test("a role is no caller by itself: the guards that it needs are, also within `anySecurity`", async () => {
  const user = bearer(async (token) => ({ id: token.split("-")[0]! }), { subject: ({ id }) => id });
  const clerk = dependency({ deps: { user } }, async (_request, { user }) => user);
  const chief = dependency({ deps: { clerk } }, async (_request, { clerk }) => clerk);
  const key = apiKey(async (key) => key, { in: "header", name: "x-key" });
  for (const guard of [chief, anySecurity(chief, key), anySecurity(key, chief), optional(anySecurity(user, key))]) {
    await counting({ guard }, async (ask) => {
      const runs: number[] = [];
      for (const token of ["ada-1", "grace-1", "ada-2"]) runs.push(await ask(authorization(`Bearer ${token}`)));
      assertEquals(runs, [1, 2, 1]);
    });
  }
  await counting({ guard: anySecurity(chief, key) }, async (ask) => {
    assertEquals([await ask({ "x-key": "ada" }), await ask(authorization("Bearer ada"))], [1, 2]);
  });
});

Deno.test("two guards of one name are two callers, though their subjects are equal", async () => {
  const startsWith = (start: string) => async (token: string) => token.startsWith(start) && token.split("-");
  const of = (start: string) => bearer(startsWith(start), { subject: ([, id]) => id! });
  await counting({ guard: anySecurity(of("user"), of("partner")) }, async (ask) => {
    const runs: number[] = [];
    for (const token of ["user-7", "partner-7", "user-7"]) runs.push(await ask(authorization(`Bearer ${token}`)));
    assertEquals(runs, [1, 2, 1]);
  });
  const keyIn = (name: string) => optional(apiKey(async (key) => key, { in: "header", name, scheme: "key" }));
  await counting({ one: keyIn("x-one"), two: keyIn("x-two") }, async (ask) => {
    assertEquals([await ask({ "x-one": "1" }), await ask({ "x-two": "1" }), await ask({ "x-one": "1" })], [1, 2, 1]);
  });
});

Deno.test("the schemes of a guard of the program's own: equal credentials of two schemes are two callers", () => {
  const user = dependency(
    {
      security: anySecurity(
        { token: { type: "http", scheme: "bearer" } },
        { key: { type: "apiKey", in: "header", name: "x-key" } },
      ),
    },
    async () => "somebody",
  );
  return counting({ user }, async (ask) => {
    assertEquals([await ask(authorization("Bearer 1")), await ask({ "x-key": "Bearer 1" })], [1, 2]);
  });
});

Deno.test("a guard that reads another header than its scheme names: what it declares", async () => {
  const user = dependency(
    { security: { proxy: { type: "http", scheme: "custom" } }, headers: { "x-user": v.string() } },
    async (_request, { headers }) => headers["x-user"],
  );
  await counting({ user }, async (ask) => {
    assertEquals([await ask({ "x-user": "ada" }), await ask({ "x-user": "grace" }), await ask({ "x-user": "ada" })], [
      1,
      2,
      1,
    ]);
  });
});

Deno.test("the user name of `basic`", () =>
  counting({ user: basic(async (name) => name) }, async (ask) => {
    const runs: number[] = [];
    for (const pair of ["ada:1", "ada:2", "grace:1"]) runs.push(await ask(authorization(`Basic ${btoa(pair)}`)));
    assertEquals(runs, [1, 1, 2]);
  }));

Deno.test("the key of `apiKey`", async () => {
  await counting({ key: apiKey(async (key) => key, { in: "header", name: "x-key" }) }, async (ask) => {
    assertEquals([await ask({ "x-key": "1" }), await ask({ "x-key": "2" }), await ask({ "x-key": "1" })], [1, 2, 1]);
  });
  await counting({ key: apiKey(async (key) => key, { in: "cookie", name: "key" }) }, async (ask) => {
    assertEquals([await ask({ cookie: "key=1" }), await ask({ cookie: "key=2" })], [1, 2]);
  });
});

Deno.test("issuer and `sub` of `jwt`: a renewed token of the same subject is the same caller", async () => {
  // The schema of the claims drops the subject.
  const options = {
    keys: SECRET,
    algorithms: ["HS256"],
    issuer: "https://id.example",
    audience: "books",
    claims: v.object({}),
    scopes: () => ["write"],
  } as const;
  const member = jwt({ ...options, algorithms: ["HS256"] });
  for (const guard of [member, member.withScopes("write"), optional(member)]) {
    await counting({ guard }, async (ask) => {
      const runs: number[] = [];
      for (const seconds of [60, 120]) runs.push(await ask(await tokenOf("ada", seconds)));
      runs.push(await ask(await tokenOf("grace", 60)));
      for (const seconds of [60, 120]) runs.push(await ask(await tokenOf(undefined, seconds)));
      assertEquals(runs, [1, 1, 2, 3, 4]);
    });
  }
});

Deno.test("`issuer and sub of jwt`: the same subject of another issuer is another caller", async () => {
  using _log = new CapturedLog();
  const issuers = ["https://id.example", "https://other.example"] as const;
  const guardOf = (issuer: string) => jwt({ keys: SECRET, algorithms: ["HS256"], issuer, audience: "books" });
  await counting({ user: anySecurity(guardOf(issuers[0]), guardOf(issuers[1])) }, async (ask) => {
    const runs: number[] = [];
    for (const issuer of [...issuers, ...issuers]) runs.push(await ask(await tokenOf("ada", 60, issuer)));
    assertEquals(runs, [1, 2, 1, 2]);
  });
});

Deno.test("of `anySecurity`, the guard that let the caller in; of `optional`, nobody where nothing was sent", async () => {
  const named = basic(async (name) => name);
  const token = bearer(async (token) => token === "wrong" ? null : token, { subject: (token) => token[0]! });
  await counting({ user: anySecurity(token, named) }, async (ask) => {
    const ada = [await ask(authorization("Bearer a1")), await ask(authorization("Bearer a2"))];
    const others = [await ask(authorization("Bearer b")), await ask(authorization(`Basic ${btoa("a:1")}`))];
    assertEquals([...ada, ...others], [1, 1, 2, 3]);
  });
  await counting({ user: optional(token) }, async (ask) => {
    assertEquals([
      await ask(),
      await ask(authorization("Bearer a1")),
      await ask(),
      await ask(authorization("Bearer a2")),
    ], [
      1,
      2,
      1,
      2,
    ]);
  });
});

Deno.test("with several guards, a caller is what all of them say, and by which of them", async () => {
  const keyOf = (scheme: string) => apiKey(async (key) => key, { in: "header", name: `x-${scheme}`, scheme });
  await counting({ user: basic(async (name) => name), partner: keyOf("one") }, async (ask) => {
    const runs: number[] = [];
    for (const [name, key] of [["ada", "1"], ["ada", "2"], ["grace", "1"], ["ada", "1"]] as const) {
      runs.push(await ask({ ...authorization(`Basic ${btoa(`${name}:x`)}`), "x-one": key }));
    }
    assertEquals(runs, [1, 2, 3, 1]);
  });
  await counting({ one: optional(keyOf("one")), two: optional(keyOf("two")) }, async (ask) => {
    assertEquals([await ask({ "x-one": "1" }), await ask({ "x-two": "1" }), await ask({ "x-one": "1" })], [1, 2, 1]);
  });
});

Deno.test("a guard of the program's own: the credentials that its scheme names", () => {
  const user = dependency(
    { security: { own: { type: "apiKey", in: "header", name: "x-own" } } },
    async (request) => request.headers.get("x-own"),
  );
  return counting({ user }, async (ask) => {
    assertEquals([await ask({ "x-own": "1" }), await ask({ "x-own": "2" }), await ask({ "x-own": "1" })], [1, 2, 1]);
  });
});

for (
  const [where, options] of [["in a seal", { secret: "s".repeat(32) }], ["in a store", {
    store: memorySessions(),
  }], ["in the records", { store: recordSessions() }]] as const
) {
  const Data = v.object({ user: v.nullable(v.string()), n: v.optional(v.number(), 0) });

  /** An application whose routes count their runs. Each visitor sends the key "a". */
  const shop = (subject?: (data: v.InferOutput<typeof Data>) => string | null) => {
    const visit = session(Data, { ...options, ...(subject && { subject }) });
    const app = new App();
    let runs = 0;
    app.post(
      "/set/{user}/{n}",
      { params: { n: v.number() }, deps: { visit } },
      async (_request, { user, n, visit }) => {
        await visit.set({ user: user === "visitor" ? null : user, n });
      },
    );
    app.post("/clear", { deps: { visit } }, async (_request, { visit }) => visit.clear());
    for (const [path, guard] of [["/run", visit.required()], ["/open", visit]] as const) {
      app.post(path, { deps: { guard: guard as Dependency<unknown> }, idempotent: "1h" }, async () => ++runs);
    }
    const ask = async (visitor: Visitor, path = "/run"): Promise<unknown> => {
      return await (await visitor.send(path, { method: "POST", headers: { "idempotency-key": "a" } })).json();
    };
    return { app, ask };
  };

  Deno.test(`a session's caller is its subject, over signing out and on several devices: ${where}`, async () => {
    const { app, ask } = shop(({ user }) => user);
    const [phone, laptop] = [new Visitor(app), new Visitor(app)];
    await phone.post("/set/ada/1");
    await laptop.post("/set/ada/2");
    assertEquals([await ask(phone), await ask(laptop), await ask(phone, "/open")], [1, 1, 2]);
    // Grace signs in after Ada in the same browser, and Ada again.
    await phone.post("/set/grace/1");
    assertEquals([await ask(phone), await ask(laptop)], [3, 1]);
    await phone.post("/clear");
    await phone.post("/set/ada/1");
    assertEquals(await ask(phone), 1);
    await app.stop();
  });

  Deno.test(`a visitor without a subject is the random id of the session, kept over set: ${where}`, async () => {
    const { app, ask } = shop(({ user }) => user);
    const [one, other] = [new Visitor(app), new Visitor(app)];
    assertEquals([await ask(one, "/open"), await ask(other, "/open")], [1, 1]);
    await one.post("/set/visitor/1");
    await other.post("/set/visitor/1");
    assertEquals([await ask(one), await ask(other)], [2, 3]);
    await one.post("/set/visitor/2");
    assertEquals(await ask(one), 2);
    await one.post("/set/ada/2");
    assertEquals(await ask(one), 4);
    await app.stop();
  });

  Deno.test(`without a subject, each set makes another caller: ${where}`, async () => {
    using _log = new CapturedLog();
    const { app, ask } = shop();
    const [ada, grace] = [new Visitor(app), new Visitor(app)];
    await ada.post("/set/ada/1");
    await grace.post("/set/grace/1");
    assertEquals([await ask(ada), await ask(grace), await ask(ada)], [1, 2, 1]);
    const before = new Map(ada.cookies);
    await ada.post("/set/grace/1");
    assertNotEquals(ada.cookies, before);
    assertEquals([await ask(ada), await ask(grace)], [3, 2]);
    await app.stop();
  });

  Deno.test(`without a subject, the id that the request came with, though a dependency sets it: ${where}`, async () => {
    using _log = new CapturedLog();
    const visit = session(v.object({ visits: v.number() }), { ...options });
    const counted = dependency({ deps: { visit } }, async (_request, { visit }) => {
      await visit.set({ visits: (visit.data?.visits ?? 0) + 1 });
    });
    const app = new App({ deps: { counted } });
    let runs = 0;
    app.post("/run", { idempotent: "1h" }, async () => ++runs);
    const ask = async (visitor: Visitor): Promise<unknown> => {
      return await (await visitor.send("/run", { method: "POST", headers: { "idempotency-key": "a" } })).json();
    };
    const [one, other] = [new Visitor(app), new Visitor(app)];
    // Visitors that come without a session are no single caller.
    assertEquals([await ask(one), await ask(other)], [1, 2]);
    await app.stop();
  });
}

/** A kind of credentials: the guard, and what two requests of one user and one of another carry. */
interface Kind {
  readonly guard: Dependency<unknown, never>;
  readonly sent: readonly [one: Record<string, string>, again: Record<string, string>, other: Record<string, string>];
}

/** Signs in three times, each with a session of its own unless the first two share one. */
async function sessionKind(options: SessionOptions<{ user: string }>, isShared: boolean): Promise<Kind> {
  const visit = session(v.object({ user: v.string() }), options);
  const app = new App();
  app.post("/{user}", { deps: { visit } }, async (_request, { user, visit }) => await visit.set({ user }));
  const cookieOf = async (user: string) => {
    const response = await app.fetch(new Request(`http://localhost/${user}`, { method: "POST" }));
    return { cookie: response.headers.get("set-cookie")!.split(";")[0]! };
  };
  const ada = await cookieOf("ada");
  return { guard: visit.required(), sent: [ada, isShared ? ada : await cookieOf("ada"), await cookieOf("grace")] };
}

async function kindsOfCredentials(): Promise<Record<string, Kind>> {
  const options = { keys: SECRET, algorithms: ["HS256"] as ["HS256"], issuer: "https://id.example", audience: "books" };
  const bearers = (...tokens: string[]) => tokens.map((token) => authorization(`Bearer ${token}`)) as never;
  const keys = (...keys: string[]) => keys.map((key) => ({ "x-kind": key })) as never;
  const withoutSubject = await tokenOf(undefined, 60);
  const subject = ({ user }: { user: string }) => user;
  return {
    "bearer": { guard: bearer(async (token) => ({ token })), sent: bearers("1", "1", "2") },
    "bearer with subject": {
      guard: bearer(async (token) => token.split("-"), { subject: ([user]) => user! }),
      sent: bearers("ada-1", "ada-2", "grace-1"),
    },
    "basic": {
      guard: basic(async (name) => ({ name })),
      sent: ["ada:1", "ada:2", "grace:1"].map((pair) => authorization(`Basic ${btoa(pair)}`)) as never,
    },
    "apiKey": { guard: apiKey(async (key) => ({ key }), { in: "header", name: "x-kind" }), sent: keys("1", "1", "2") },
    "jwt": {
      guard: jwt(options),
      sent: [await tokenOf("ada", 60), await tokenOf("ada", 120), await tokenOf("grace", 60)],
    },
    "jwt with scopes": {
      guard: jwt({ ...options, scopes: () => ["write"] }).withScopes("write"),
      sent: [await tokenOf("ada", 60), await tokenOf("ada", 120), await tokenOf("grace", 60)],
    },
    "jwt without sub": { guard: jwt(options), sent: [withoutSubject, withoutSubject, await tokenOf(undefined, 61)] },
    "sealed session": await sessionKind({ secret: "s".repeat(32) }, true),
    "sealed session with subject": await sessionKind({ secret: "s".repeat(32), subject }, false),
    "stored session": await sessionKind({ store: memorySessions() }, true),
    "stored session with subject": await sessionKind({ store: memorySessions(), subject }, false),
    "a guard of its own": {
      guard: dependency(
        { security: { own: { type: "apiKey", in: "header", name: "x-kind" } } },
        async () => "somebody",
      ),
      sent: keys("1", "1", "2"),
    },
  };
}

Deno.test("in any combination of guards, each user gets the own reply again, and nobody another one's", async () => {
  using _log = new CapturedLog();
  const other = apiKey(async (key) => ({ key }), { in: "header", name: "x-other", scheme: "other" });
  const roleOf = (guard: Dependency<unknown, never>) => dependency({ deps: { guard } as never }, async () => "clerk");
  const combinations: Record<string, (guard: Dependency<unknown, never>) => Dependency<unknown, never>> = {
    "itself": (guard) => guard,
    "optional": (guard) => optional(guard as Dependency<unknown>),
    "first of any": (guard) => anySecurity(guard, other),
    "last of any": (guard) => anySecurity(other, guard),
    "optional of any": (guard) => optional(anySecurity(other, guard) as Dependency<unknown>),
    "any of any": (guard) => anySecurity(other, anySecurity(guard, other)),
    "a role": roleOf,
    "a role of a role": (guard) => roleOf(roleOf(guard)),
    "a role of any": (guard) => roleOf(anySecurity(other, guard)),
    "any of roles": (guard) => anySecurity(roleOf(other), roleOf(guard)),
    "any of roles of any": (guard) => anySecurity(roleOf(anySecurity(other, guard)), other),
  };
  for (const [kind, { guard, sent }] of Object.entries(await kindsOfCredentials())) {
    for (const [name, combine] of Object.entries(combinations)) {
      // A guard of the program's own does not say whether credentials were sent.
      if (kind === "a guard of its own" && name.startsWith("optional")) continue;
      const runs: number[] = [];
      await counting({ user: combine(guard) }, async (ask) => {
        for (const headers of [...sent, sent[0]]) runs.push(await ask(headers));
      });
      assertEquals(runs, [1, 1, 2, 1], `${kind}, ${name}`);
    }
  }
});

Deno.test("tools get `idempotentHint`", async () => {
  const app = new App();
  app.post("/once", { tool: true, idempotent: "1h" }, async function once() {
    return 1;
  });
  app.post("/each", { tool: true }, async function each() {
    return 1;
  });
  await using client = new TestClient(app);
  const headers = { accept: "application/json, text/event-stream" };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const { result } = await client.post("/mcp", { json: body, headers }).json() as {
    result: { tools: { name: string; annotations: { idempotentHint: boolean } }[] };
  };
  const hints = result.tools.map(({ name, annotations }) => [name, annotations.idempotentHint]);
  assertEquals(hints, [["once", true], ["each", false]]);
});

Deno.test("a tool must not require a key, which agents do not send", () => {
  const app = new App();
  const options = { tool: true, idempotent: { window: "24h", required: true } } as const;
  const error = assertThrows(() => app.post("/once", options, async () => 1), RouteError);
  assertEquals([error.code, error.message], [
    "tool",
    "Cannot expose POST /once as a tool: it requires an Idempotency-Key, which agents do not send: " +
    'leave out "required" of "idempotent"',
  ]);
});

Deno.test("a key of an agent is for one call: with several in a batch, none is made", async () => {
  const app = new App();
  let runs = 0;
  app.post("/once", { tool: true, idempotent: "1h" }, async function once() {
    return { runs: ++runs };
  });
  await using client = new TestClient(app, { headers: { "idempotency-key": "a" } });
  const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "once" } });
  const ask = async (messages: unknown) => await (await client.post("/mcp", { json: messages })).json();
  for (let id = 1; id <= 2; id++) {
    const [answer] = await ask([call(id)]) as { result: { structuredContent: unknown } }[];
    assertEquals(answer!.result.structuredContent, { runs: 1 });
  }
  const { error } = await ask([call(1), call(2)]) as { error: { message: string } };
  assertEquals([error.message, runs], ["An Idempotency-Key is for one call: send each call by itself", 1]);
});

Deno.test("an application that is mounted for several tenants keeps the replies of each apart", async () => {
  const shop = new App();
  shop.post("/orders", { idempotent: "1h" }, async (request) => request.basePath);
  const shops = new App({ basePath: "/shops" });
  shops.mount("/{shop}", shop);
  const app = new App({ trustProxy: 1 });
  app.mount("/{region}", shops);
  const ask = async (path: string, prefix = "") => {
    const headers = { "idempotency-key": "a", "x-forwarded-prefix": prefix };
    const response = await app.fetch(new Request(`http://localhost${path}`, { method: "POST", headers }));
    return [await response.json(), response.headers.get("idempotency-replayed")];
  };
  for (const replayed of [null, "true"]) {
    assertEquals(await ask("/eu/one/orders"), ["/shops/one", replayed]);
    assertEquals(await ask("/eu/two/orders"), ["/shops/two", replayed]);
    assertEquals(await ask("/us/two/orders"), ["/shops/two", replayed]);
    assertEquals(await ask("/us/two/orders", "/v1"), ["/shops/two", replayed]);
  }
  assertEquals(await ask("/%75s/tw%6f/orders"), ["/shops/two", "true"]);
  await app.stop();
});

Deno.test("guards around a mount name the callers of the mounted application", async () => {
  const inner = new App();
  let runs = 0;
  inner.post("/pay", { idempotent: "1h" }, async () => ++runs);
  inner.post("/by", { idempotent: { window: "1h", by: () => "one" } }, async () => ++runs);
  const middle = new App();
  middle.mount("/inner", inner);
  const app = new App();
  const guarded = new Router({ deps: { user: bearer(async (token) => token) } });
  guarded.mount("/middle", middle);
  app.include(guarded);
  app.mount("/open", inner);
  const ask = async (path: string, token: string) => {
    const headers = { "idempotency-key": "a", ...authorization(`Bearer ${token}`) };
    return await (await app.fetch(new Request(`http://localhost${path}`, { method: "POST", headers }))).json();
  };
  const asked: number[] = [];
  for (const token of ["ada", "grace", "ada"]) asked.push(await ask("/middle/inner/pay", token));
  for (const token of ["ada", "grace"]) asked.push(await ask("/middle/inner/by", token));
  for (const token of ["ada", "grace"]) asked.push(await ask("/open/pay", token));
  assertEquals(asked, [1, 2, 1, 3, 3, 4, 4]);
  await app.stop();
});

Deno.test("guards name the callers also where a function hands requests on to the mounted application", async () => {
  const inner = new App();
  let runs = 0;
  inner.post("/pay", { idempotent: "1h" }, async () => ++runs);
  const app = new App({ deps: { user: bearer(async (token) => token) } });
  app.mount("/inner", async (request, info) => await inner.fetch(request, info));
  const ask = async (token: string) => {
    const headers = { "idempotency-key": "a", ...authorization(`Bearer ${token}`) };
    return await (await app.fetch(new Request("http://localhost/inner/pay", { method: "POST", headers }))).json();
  };
  const asked: number[] = [];
  for (const token of ["ada", "grace", "ada"]) asked.push(await ask(token));
  assertEquals(asked, [1, 2, 1]);
  await inner.stop();
  await app.stop();
});
