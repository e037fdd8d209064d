// "whatever runs a guard is counted first by every limit that stands at or outside that guard's
// scope, in included and nested routers too, and through `/mcp` as well: calls in a batch, a list of
// permitted tools, `initialize`; `docs: { rateLimit }` does the same for the page and the document"

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, Router } from "@webfw/core";
import { basic, bearer } from "@webfw/core/auth";
import { askFrom } from "../support/from_address.ts";
import { Serving } from "../support/serving.ts";

const HOST = "203.0.113.7";
const LIMIT = { limit: 3, per: "1h" } as const;
const GUESSES = 8;

/** A guard of tokens, which counts how often it runs. */
function countingGuard(challenge?: string) {
  const counter = { ran: 0 };
  const guard = challenge === undefined
    ? bearer(async (token) => {
      counter.ran++;
      return token === "right" ? { id: token } : null;
    })
    : dependency({
      security: {
        id: { type: "openIdConnect", openIdConnectUrl: "https://id.example/.well-known/openid-configuration" },
      },
    }, async (request) => {
      counter.ran++;
      if (request.headers.get("authorization") === "Bearer right") return { id: "right" };
      throw new HTTPError(401, "Sign in", { headers: { "www-authenticate": challenge } });
    });
  return { counter, guard };
}

type Guard = ReturnType<typeof countingGuard>["guard"];

/** Applications with one tool, whose limit stands at the guard's scope or outside of it. */
const PLACES: Readonly<Record<string, (guard: Guard) => App>> = {
  "route and route": (guard) => {
    const app = new App({ mcp: { list: "permitted" } });
    app.get("/t", { deps: { guard }, rateLimit: LIMIT, tool: true }, async function t() {});
    return app;
  },
  "application and route": (guard) => {
    const app = new App({ mcp: { list: "permitted" }, rateLimit: LIMIT });
    app.get("/t", { deps: { guard }, tool: true }, async function t() {});
    return app;
  },
  "application and application": (guard) => {
    const app = new App({ mcp: { list: "permitted" }, rateLimit: LIMIT, deps: { guard } });
    app.get("/t", { tool: true }, async function t() {});
    return app as unknown as App;
  },
  "router and router": (guard) => {
    const router = new Router({ rateLimit: LIMIT, deps: { guard } });
    router.get("/t", { tool: true }, async function t() {});
    const app = new App({ mcp: { list: "permitted" } });
    app.include(router);
    return app;
  },
  "include and router": (guard) => {
    const router = new Router({ deps: { guard } });
    router.get("/t", { tool: true }, async function t() {});
    const app = new App({ mcp: { list: "permitted" } });
    app.include(router, { rateLimit: LIMIT });
    return app;
  },
  "outer router and nested router": (guard) => {
    const inner = new Router({ deps: { guard } });
    inner.get("/t", { tool: true }, async function t() {});
    const outer = new Router({ rateLimit: LIMIT });
    outer.include(inner);
    const app = new App({ mcp: { list: "permitted" } });
    app.include(outer);
    return app;
  },
};

const call = (id: number, name = "t") => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {} },
});
const list = { jsonrpc: "2.0", id: 9, method: "tools/list" };
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "agent", version: "1" } },
};

/** Messages, each of which is one guess. */
const MESSAGES: Readonly<Record<string, unknown>> = {
  "one call": call(1),
  "a batch of one call": [call(1)],
  "a batch with a call of an unknown tool": [call(1), call(2, "nope")],
  "a list": list,
  "a batch of lists": [list, list],
};

async function send(app: App, body: unknown, token: string) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return await askFrom(app, HOST, "/mcp", { method: "POST", headers, body: JSON.stringify(body) });
}

for (const [places, make] of Object.entries(PLACES)) {
  Deno.test(`Through /mcp, guesses are counted before the guard runs, limit and guard at: ${places}`, async () => {
    for (const [what, body] of Object.entries(MESSAGES)) {
      const { counter, guard } = countingGuard();
      const app = make(guard);
      for (let guess = 0; guess < GUESSES; guess++) await send(app, body, `guess-${guess}`);
      assertEquals(counter.ran, LIMIT.limit, what);
      assert((await send(app, body, "right")).body.includes("Too many requests"), `${what}: the limit holds for all`);
      await app.stop();
    }
  });

  Deno.test(`Over HTTP, guesses are counted before the guard runs, limit and guard at: ${places}`, async () => {
    const { counter, guard } = countingGuard();
    const app = make(guard);
    const statuses: number[] = [];
    for (let guess = 0; guess < GUESSES; guess++) {
      statuses.push((await askFrom(app, HOST, "/t", { headers: { authorization: `Bearer guess-${guess}` } })).status);
    }
    assertEquals([counter.ran, statuses.filter((status) => status === 429).length], [3, GUESSES - 3]);
  });
}

Deno.test("initialize counts guesses where every tool needs a token, and is 429 beyond the limit", async () => {
  for (const [places, make] of Object.entries(PLACES)) {
    const { counter, guard } = countingGuard("Bearer");
    const app = make(guard as Guard);
    const statuses: number[] = [];
    for (let guess = 0; guess < 5; guess++) statuses.push((await send(app, initialize, `guess-${guess}`)).status);
    const refused = await send(app, initialize, "right");
    assertEquals([...statuses, counter.ran, refused.status], [401, 401, 401, 429, 429, 3, 429], places);
    assertMatch(refused.headers.get("retry-after")!, /^3[56]\d\d$/);
  }
});

Deno.test("A limit of a dependency's values counts guesses at an inner guard, in a list, too", async () => {
  const user = bearer(async (token) => ({ id: token }));
  const counter = { ran: 0 };
  const pin = dependency({ security: { pin: { type: "apiKey", in: "header", name: "x-pin" } } }, async () => {
    counter.ran++;
    throw new HTTPError(403, "Wrong PIN");
  });
  const rateLimit = { ...LIMIT, by: user, key: ({ id }: { id: string }) => id };
  const app = new App({ mcp: { list: "permitted" }, deps: { user }, rateLimit });
  app.get("/t", { deps: { pin }, tool: true }, async function t() {});
  for (let guess = 0; guess < GUESSES; guess++) await send(app as unknown as App, list, "ada");
  assertEquals(counter.ran, 3);
});

Deno.test("A list counts once for each limit, and leaves out a tool whose limit is reached", async () => {
  const { counter, guard } = countingGuard();
  const other = countingGuard();
  const app = new App({ mcp: { list: "permitted" }, rateLimit: { limit: 100, per: "1h" } });
  app.get("/free", { deps: { guard }, tool: true }, async function free() {});
  app.get(
    "/rare",
    { deps: { guard: other.guard }, rateLimit: { limit: 2, per: "1h" }, tool: true },
    async function rare() {},
  );
  app.get("/inner", { deps: { guard }, tool: true }, async function inner() {});
  const names = async () => {
    const { result } = JSON.parse((await send(app, list, "right")).body);
    return result.tools.map(({ name }: { name: string }) => name);
  };
  assertEquals(await names(), ["free", "rare", "inner"]);
  assertEquals(await names(), ["free", "rare", "inner"]);
  assertEquals(await names(), ["free", "inner"]);
  assertEquals([counter.ran, other.counter.ran], [3, 2]);
  const { headers } = await askFrom(app, HOST, "/free", { headers: { authorization: "Bearer right" } });
  assertEquals(headers.get("ratelimit")?.split(";")[1], "r=96");
});

Deno.test("Each call of a batch is counted once, and one that a limit refuses does not run", async () => {
  const { counter, guard } = countingGuard();
  let ran = 0;
  const app = new App();
  app.get("/t", { deps: { guard }, rateLimit: LIMIT, tool: true }, async function t() {
    return ++ran;
  });
  const { body } = await send(app, [1, 2, 3, 4, 5].map((id) => call(id)), "right");
  const results = JSON.parse(body) as { result: { isError?: boolean; content: { text: string }[] } }[];
  assertEquals([ran, counter.ran], [3, 6]);
  assertEquals(results.map(({ result }) => result.isError ?? false), [false, false, false, true, true]);
  assertMatch(results[4]!.result.content[0]!.text, /try again in 3[56]\d\d s/);
});

Deno.test("docs: { rateLimit } counts before docs.deps, for the page and the document together", async () => {
  let ran = 0;
  const staff = basic(async (_name, password) => {
    ran++;
    return password === "right";
  });
  const app = new App({ docs: { deps: { staff }, rateLimit: { limit: 3, per: "1h" } } });
  app.get("/", async () => 1);
  const ask = async (path: string, password: string) => {
    const headers = { authorization: `Basic ${btoa(`ada:${password}`)}` };
    return (await askFrom(app, HOST, path, { headers })).status;
  };
  assertEquals([await ask("/docs", "a"), await ask("/openapi.json", "b"), await ask("/docs", "c")], [401, 401, 401]);
  assertEquals([await ask("/docs", "right"), await ask("/openapi.json", "right"), ran], [429, 429, 3]);
  assertEquals((await askFrom(app, HOST, "/docs/page.css")).status, 200);
  assertEquals((await askFrom(app, "203.0.113.8", "/openapi.json")).status, 401);
});

Deno.test("docs: { rateLimit } holds without guards, too, and its replies say what is left", async () => {
  const app = new App({ docs: { rateLimit: [{ limit: 2, per: "1m" }, { limit: 5, per: "1h" }] } });
  const first = await askFrom(app, HOST, "/openapi.json");
  assertEquals(first.status, 200);
  assertMatch(first.headers.get("ratelimit")!, /^"1";r=1;t=\d+, "2";r=4;t=\d+$/);
  assertEquals((await askFrom(app, HOST, "/docs")).status, 200);
  assertEquals((await askFrom(app, HOST, "/docs")).status, 429);
});

Deno.test("docs: { rateLimit } takes no dependency, and names a mistake", () => {
  const user = bearer(async (token) => token);
  // deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
  const docs = (rateLimit: any) => () => new App({ docs: { rateLimit } });
  assertThrows(docs({ limit: 1, per: "1m", by: user, key: String }), TypeError, '"docs.rateLimit" counts before');
  assertThrows(docs({ limit: 0, per: "1m" }), RangeError, '"docs.rateLimit.limit"');
  assertThrows(docs([]), TypeError, '"docs.rateLimit" is an empty array');
});

Deno.test("On a socket, an agent without the key stops guessing after the limit", async () => {
  const { counter, guard } = countingGuard();
  const app = new App({ mcp: { list: "permitted" }, rateLimit: { limit: 10, per: "1h" } });
  app.get("/t", { deps: { guard }, tool: true }, async function t() {});
  await using server = await Serving.start(app);
  const bodies = [call(1), [call(1), call(2)], list, [list, call(3)]];
  await Promise.all(Array.from({ length: 80 }, async (_, guess) => {
    const response = await fetch(`${server.origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer guess-${guess}` },
      body: JSON.stringify(bodies[guess % bodies.length]),
    });
    await response.body?.cancel();
  }));
  assert(counter.ran <= 10, `${counter.ran} guesses`);
});
