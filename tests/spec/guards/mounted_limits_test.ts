// "whatever runs a guard is counted first by every limit that stands at or outside that guard's
// scope, in included and nested routers too, and through `/mcp` as well: calls in a batch" (also
// where the limit stands around the mount of an application)

import { assert, assertEquals, assertMatch } from "@std/assert";
import { App, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { askFrom } from "../support/from_address.ts";
import { Serving } from "../support/serving.ts";

const HOST = "203.0.113.7";
const LIMIT = { limit: 3, per: "1h" } as const;

/** An application with a tool that counts its calls. */
function shop() {
  const counter = { ran: 0 };
  const inner = new App();
  inner.get("/login", { tool: true }, async function login() {
    return ++counter.ran;
  });
  return { counter, inner };
}

const call = (id: number, name = "login") => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {} },
});
const calls = (count: number) => Array.from({ length: count }, (_, id) => call(id));
const list = { jsonrpc: "2.0", id: 99, method: "tools/list" };

type Results = { readonly result: { readonly isError?: boolean; readonly content: { readonly text: string }[] } }[];

async function send(app: App, path: string, body: unknown, token = "ada", host = HOST) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const reply = await askFrom(app, host, path, { method: "POST", headers, body: JSON.stringify(body) });
  return { ...reply, results: reply.status === 200 ? JSON.parse(reply.body) as Results : [] };
}

const refusedOf = (results: Results) => results.map(({ result }) => result.isError ?? false);

/** Applications that mount one at `/shop`, with a limit around it. */
const PLACES: Readonly<Record<string, (inner: App) => App>> = {
  "the application": (inner) => {
    const app = new App({ rateLimit: LIMIT });
    app.mount("/shop", inner);
    return app;
  },
  "a router": (inner) => {
    const router = new Router({ prefix: "/shop", rateLimit: LIMIT });
    router.mount("", inner);
    const app = new App();
    app.include(router);
    return app;
  },
  "an include": (inner) => {
    const router = new Router();
    router.mount("/shop", inner);
    const app = new App();
    app.include(router, { rateLimit: LIMIT });
    return app;
  },
  "the outermost of two applications": (inner) => {
    const middle = new App({ mcpUrl: null });
    middle.mount("/", inner);
    const app = new App({ rateLimit: LIMIT });
    app.mount("/shop", middle);
    return app;
  },
  "the middle one of three applications": (inner) => {
    const middle = new App({ mcpUrl: null, rateLimit: LIMIT });
    middle.mount("/", inner);
    const app = new App({ rateLimit: { limit: 100, per: "1h" } });
    app.mount("/shop", middle);
    return app;
  },
  "an application that hands its requests on by a function": (inner) => {
    const app = new App({ rateLimit: LIMIT });
    app.mount("/shop", async (request, info) => await inner.fetch(request, info));
    return app;
  },
};

for (const [place, make] of Object.entries(PLACES)) {
  Deno.test(`A limit around a mount counts each call of a batch, where it stands on ${place}`, async () => {
    const { counter, inner } = shop();
    const app = make(inner);
    const { results } = await send(app, "/shop/mcp", calls(6));
    assertEquals(refusedOf(results), [false, false, false, true, true, true]);
    assertMatch(results[5]!.result.content[0]!.text, /try again in 3[56]\d\d s/);
    assertEquals(counter.ran, 3);
    assertEquals((await send(app, "/shop/mcp", call(1))).status, 429, "the limit is reached");
    assertEquals((await send(app, "/shop/mcp", calls(1), "ada", "203.0.113.8")).status, 200, "another client");
    await app.stop();
  });
}

Deno.test("A limit around a mount counts a request with one call once, also with what is no call", async () => {
  const bodies = [call(1), [call(1)], list, [list, list], [list, call(1)], [call(1), call(2, "nope")]];
  for (const body of bodies) {
    const app = PLACES["the application"]!(shop().inner);
    const { headers } = await send(app, "/shop/mcp", body);
    assertMatch(headers.get("ratelimit")!, /^"1";r=2;t=3600$/, JSON.stringify(body));
  }
});

Deno.test("After a batch, the headers have each limit around the mount once, with what is left", async () => {
  const { inner } = shop();
  const app = new App({ rateLimit: [{ limit: 10, per: "1h" }, { limit: 100, per: "1h" }] });
  app.mount("/shop", inner);
  const { headers, results } = await send(app, "/shop/mcp", calls(4));
  assertEquals(refusedOf(results), [false, false, false, false]);
  assertEquals(headers.get("ratelimit-policy"), '"1";q=10;w=3600, "2";q=100;w=3600');
  assertEquals(headers.get("ratelimit"), '"1";r=6;t=3600, "2";r=96;t=3600');
});

Deno.test("Limits of values around a mount count each call, and their guards run once", async () => {
  let asked = 0;
  const user = bearer(async (token) => {
    asked++;
    return { id: token };
  });
  const tenant = bearer(async (token) => token.length, { scheme: "tenant" });
  const byUser = { limit: 3, per: "1h", by: user, key: ({ id }: { id: string }) => id } as const;
  for (const deps of [{ user }, { user, tenant }]) {
    const { counter, inner } = shop();
    const app = new App({ deps, rateLimit: [{ limit: 9, per: "1h" }, byUser] }) as unknown as App;
    app.mount("/shop", inner);
    asked = 0;
    assertEquals(refusedOf((await send(app, "/shop/mcp", calls(5))).results), [false, false, false, true, true]);
    assertEquals([counter.ran, asked], [3, 1]);
    // Only four are left: the limit of addresses comes first, and has counted all five.
    const second = (await send(app, "/shop/mcp", calls(5), "bob")).results;
    assertEquals(refusedOf(second), [false, false, false, true, true]);
    assertEquals((await send(app, "/shop/mcp", call(1), "eve")).status, 429);
    await app.stop();
  }
});

Deno.test("A call that a limit around the mount refuses is not counted by limits and guards within", async () => {
  let asked = 0;
  const user = bearer(async (token) => {
    asked++;
    return token;
  });
  const inner = new App({ rateLimit: { limit: 50, per: "1h" } });
  inner.get("/login", { tool: true, deps: { user } }, async function login() {});
  const app = PLACES["the application"]!(inner);
  await send(app, "/shop/mcp", calls(6));
  assertEquals(asked, 6, "three calls ask before the batch runs, and when they run");
  const { headers } = await askFrom(inner, HOST, "/login", { headers: { authorization: "Bearer ada" } });
  assertEquals(headers.get("ratelimit")?.split(";")[1], "r=46");
});

Deno.test("Over a socket, parallel batches below a mount do not exceed its limit", async () => {
  const { counter, inner } = shop();
  const app = new App({ rateLimit: { limit: 10, per: "1h", store: "records" } });
  app.mount("/shop", inner);
  await using server = await Serving.start(app);
  const replies = await Promise.all(Array.from({ length: 8 }, async () => {
    const response = await fetch(`${server.origin}/shop/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(calls(20)),
    });
    return [response.status, await response.text()] as const;
  }));
  assertEquals(counter.ran, 10);
  assert(replies.every(([status]) => status === 200 || status === 429));
});
