// "`mcp: { list: "permitted" }` lists only tools whose guards let the caller in; default `"all"`",
// and the challenge to agents that connect to an application whose tools all need a token.

import { assertEquals, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, Router } from "@webfw/core";
import type { SecurityRequirement } from "@webfw/core/types";
import { bearer } from "@webfw/core/auth";
import * as v from "valibot";
import { Agent, type AgentReply, type Answer } from "../../agents/agent.ts";
import { CapturedLog } from "../support/captured_log.ts";

const URL = "http://localhost/mcp";
const security: SecurityRequirement = { own: { type: "http", scheme: "bearer" } };
const openid: SecurityRequirement = {
  id: { type: "openIdConnect", openIdConnectUrl: "https://id.example/.well-known/openid-configuration" },
};

function agentWith(app: App, token?: string): Agent {
  return new Agent(app, URL, token === undefined ? {} : { authorization: `Bearer ${token}` });
}

async function names(agent: Agent): Promise<string[]> {
  return (await agent.list()).map(({ name }) => name);
}

/** A guard of the tokens of a role, which counts how often it is asked. */
function guardOf(role: string, requirement = security) {
  const counter = { asked: 0 };
  const guard = dependency({ security: requirement }, async (request) => {
    counter.asked++;
    const token = request.headers.get("authorization");
    const headers = { "www-authenticate": "Bearer" };
    if (token === null) throw new HTTPError(401, "Sign in", { headers });
    if (token !== `Bearer ${role}`) throw new HTTPError(403, "Not for you");
  });
  return { counter, guard };
}

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "agent", version: "1.0.0" } },
};

Deno.test("By default all tools are listed, to everybody", async () => {
  const { guard } = guardOf("ada");
  const app = new App();
  app.get("/open", { tool: true }, async function open() {});
  app.get("/mine", { deps: { guard }, tool: true }, async function mine() {});
  assertEquals(await names(agentWith(app)), ["open", "mine"]);
});

Deno.test("With permitted, only tools whose guards let the caller in are listed", async () => {
  const [ada, eve] = [guardOf("ada"), guardOf("eve")];
  const app = new App({ mcp: { list: "permitted" } });
  app.get("/open", { tool: true }, async function open() {});
  app.get("/mine", { deps: { guard: ada.guard }, tool: true }, async function mine() {});
  app.get("/hers", { deps: { guard: eve.guard }, tool: true }, async function hers() {});
  app.get("/both", { deps: { a: ada.guard, e: eve.guard }, tool: true }, async function both() {});
  assertEquals(await names(agentWith(app)), ["open"]);
  assertEquals(await names(agentWith(app, "ada")), ["open", "mine"]);
  assertEquals(await names(agentWith(app, "eve")), ["open", "hers"]);
  const { body } = await agentWith(app, "ada").askModern("tools/list");
  assertEquals((body?.result?.tools as { name: string }[]).map(({ name }) => name), ["open", "mine"]);
  assertEquals(body?.result?.ttlMs, 0);
});

Deno.test("Guards of scopes count, and inner ones are asked only if the outer ones let the caller in", async () => {
  const [ada, inner] = [guardOf("ada"), guardOf("ada")];
  const app = new App({ mcp: { list: "permitted" } });
  const router = new Router({ prefix: "/books", deps: { inner: inner.guard } });
  router.get("", { tool: true }, async function books() {});
  app.include(router, { deps: { user: ada.guard } });
  assertEquals(await names(agentWith(app)), []);
  assertEquals([ada.counter.asked, inner.counter.asked], [1, 0]);
  assertEquals(await names(agentWith(app, "ada")), ["books"]);
  assertEquals([ada.counter.asked, inner.counter.asked], [2, 1]);
});

Deno.test("A list asks each guard once, and so does a batch of lists", async () => {
  const { counter, guard } = guardOf("ada");
  let opened = 0;
  let closed = 0;
  const connection = dependency(async function* () {
    opened++;
    try {
      yield "open";
    } finally {
      closed++;
    }
  });
  const other = dependency({ deps: { connection, guard }, security }, async () => {});
  const app = new App({ mcp: { list: "permitted" } });
  for (let number = 0; number < 50; number++) {
    app.get(`/${number}`, { deps: { guard, other }, tool: { name: `tool${number}` } }, async () => {});
  }
  assertEquals((await names(agentWith(app, "ada"))).length, 50);
  assertEquals([counter.asked, opened], [1, 1]);
  await agentWith(app, "ada").post(Array(20).fill(list));
  assertEquals([counter.asked, opened], [2, 2]);
  await app.stop();
  assertEquals(closed, 2);
});

Deno.test("Guards that read arguments are only asked by a call", async () => {
  const { guard } = guardOf("ada");
  const member = dependency({ params: { club: v.string() }, deps: { guard }, security }, async () => {
    throw new HTTPError(403, "No member");
  });
  const app = new App({ mcp: { list: "permitted" } });
  app.get("/clubs/{club}", { deps: { member, guard }, tool: true }, async function club() {});
  app.get("/pages/{club}", { deps: { member }, tool: true }, async function page() {});
  // A guard that such a guard needs is asked.
  assertEquals(await names(agentWith(app)), []);
  assertEquals(await names(agentWith(app, "ada")), ["club", "page"]);
  assertEquals(await agentWith(app, "ada").failure("club", { club: "a" }), "403 Forbidden: No member");
});

Deno.test("Guards see headers and cookies that they declare, and the locals of the application's middleware", async () => {
  const app = new App({ mcp: { list: "permitted" } });
  app.middleware(async (request, next) => {
    request.locals.set("tenant", request.headers.get("x-tenant"));
    return await next(request);
  });
  const declared = dependency(
    {
      headers: { "x-key": v.pipe(v.string(), v.minLength(2)) },
      cookies: { theme: v.optional(v.string(), "light") },
      security,
    },
    async (_request, { headers, cookies }) => `${headers["x-key"]} ${cookies.theme}`,
  );
  const later = dependency(
    { headers: { "x-key": v.pipeAsync(v.string(), v.checkAsync(async (key) => key === "ok")) }, security },
    async () => {},
  );
  const user = dependency({ deps: { declared }, security }, async (request, { declared }) => {
    if (request.locals.get("tenant") !== "one" || declared !== "ok light") throw new HTTPError(403);
  });
  app.get("/a", { deps: { user, later }, tool: true }, async function a() {});
  const list = (headers: Record<string, string>) => names(new Agent(app, URL, headers));
  assertEquals(await list({ "x-key": "ok", "x-tenant": "one" }), ["a"]);
  assertEquals(await list({ "x-key": "ok", "x-tenant": "two" }), []);
  assertEquals(await list({ "x-key": "no", "x-tenant": "one" }), []);
  assertEquals(await list({ "x-key": "o", "x-tenant": "one" }), []);
  assertEquals(await list({ "x-tenant": "one" }), []);
});

Deno.test("If a guard fails, so does the list, and says nothing of it", async () => {
  using log = new CapturedLog();
  let failure: Error = new HTTPError(503, "No keys", { headers: { "retry-after": "5" } });
  const failing = dependency({ security }, async () => {
    throw failure;
  });
  const app = new App({ mcp: { list: "permitted" } });
  app.get("/open", { tool: true }, async function open() {});
  app.get("/a", { deps: { failing }, tool: true }, async function a() {});
  const away = await agentWith(app).post(list);
  assertEquals([away.status, away.headers.get("retry-after"), away.body?.detail], [503, "5", "No keys"]);
  failure = new Error("password of the database");
  const failed = await agentWith(app).post(list);
  assertEquals([failed.status, failed.body?.detail], [500, "Internal Server Error"]);
  const { status, body } = await agentWith(app).post([ping, list]);
  const [answered, error] = body as unknown as Answer[];
  assertEquals([status, answered?.result, error?.error?.message], [200, {}, "Internal Server Error"]);
  const modern = await agentWith(app).askModern("tools/list");
  assertEquals([modern.status, modern.body?.detail], [500, "Internal Server Error"]);
  assertEquals(log.lines.filter((line) => line.includes("password of the database")).length, 3);
});

Deno.test("A list that fails waits for the other guards, so that what they open is closed", async () => {
  using _log = new CapturedLog();
  const { promise: hasFailed, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  const failing = dependency({ security }, async () => {
    resolve();
    throw new Error("Away");
  });
  const slow = dependency({ security }, async function* () {
    await hasFailed;
    order.push("opened");
    try {
      yield "connection";
    } finally {
      order.push("closed");
    }
  });
  const app = new App({ mcp: { list: "permitted" } });
  app.get("/slow", { deps: { slow }, tool: true }, async function slow() {});
  app.get("/failing", { deps: { failing }, tool: true }, async function failing() {});
  assertEquals((await agentWith(app).post(list)).status, 500);
  await app.stop();
  assertEquals(order, ["opened", "closed"]);
});

Deno.test("mcp.list is all or permitted", () => {
  assertThrows(
    () => new App({ mcp: { list: "some" as "all" } }),
    TypeError,
    'Cannot set mcp.list: it must be "all" or "permitted", got "some"',
  );
});

function challengeOf({ status, headers }: AgentReply): unknown {
  return [status, headers.get("www-authenticate")];
}

Deno.test("Where every tool needs a token, connecting without a good one is a 401, and nothing else is", async () => {
  const user = dependency({ security: openid }, async (request) => {
    if (request.headers.get("authorization") === "Bearer ada") return "ada";
    throw new HTTPError(401, "Sign in", { headers: { "www-authenticate": "Bearer" } });
  });
  const app = new App();
  app.get("/a", { deps: { user }, tool: true }, async function a() {});
  app.get("/b", { deps: { user }, tool: true }, async function b() {});
  const challenge = 'Bearer resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"';
  for (const agent of [agentWith(app), agentWith(app, "old")]) {
    assertEquals(challengeOf(await agent.post(initialize)), [401, challenge]);
    assertEquals(challengeOf(await agent.askModern("server/discover")), [401, challenge]);
    assertEquals((await agent.post(ping)).status, 200);
    assertEquals(await names(agent), ["a", "b"]);
  }
  assertEquals((await agentWith(app, "ada").post(initialize)).status, 200);
  assertEquals((await agentWith(app, "ada").askModern("server/discover")).status, 200);
});

Deno.test("Where every tool needs a token, the permitted list without one is empty, and no 401", async () => {
  const { guard } = guardOf("ada", openid);
  const app = new App({ mcp: { list: "permitted" } });
  app.get("/a", { deps: { guard }, tool: true }, async function a() {});
  assertEquals((await agentWith(app).post(initialize)).status, 401);
  assertEquals(await names(agentWith(app)), []);
  assertEquals(await names(agentWith(app, "eve")), []);
  assertEquals(await names(agentWith(app, "ada")), ["a"]);
});

Deno.test("Where a tool is open, or has another way, everybody can connect", async () => {
  const { guard } = guardOf("ada", openid);
  const open = new App();
  open.get("/a", { deps: { guard }, tool: true }, async function a() {});
  open.get("/open", { tool: true }, async function open() {});
  assertEquals((await agentWith(open).post(initialize)).status, 200);
  const other = new App();
  other.get("/a", { deps: { guard: bearer(async () => null) }, tool: true }, async function a() {});
  assertEquals((await agentWith(other).post(initialize)).status, 200);
  assertEquals((await agentWith(new App()).post(initialize)).status, 200);
  // A token that only lacks rights is good for connecting.
  const all = new App();
  all.get("/a", { deps: { guard }, tool: true }, async function a() {});
  assertEquals((await agentWith(all, "eve").post(initialize)).status, 200);
});
