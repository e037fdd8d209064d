// "A guard's 401, and its 403 with `insufficient_scope`, of a tool call are HTTP replies with their
// `WWW-Authenticate` (in a batch for the whole request, before any call runs); any other refusal,
// 429 too, is a result with `isError` whose text has the detail and the seconds of `Retry-After`."

import { assert, assertEquals } from "@std/assert";
import { App, dependency, HTTPError, type HttpRequest, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import * as v from "valibot";
import { Agent, type AgentReply } from "../../agents/agent.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { Serving } from "../support/serving.ts";

const URL = "http://localhost/mcp";
const user = bearer(async (token) => token === "ada" ? "Ada" : null);

/** A guard that throws an error. */
function refusing(status: number, headers: Record<string, string> = {}, detail = "Refused") {
  return dependency({ security: { own: { type: "http", scheme: "bearer" } } }, async () => {
    throw new HTTPError(status, detail, { headers });
  });
}

function callOf(name: string, args: unknown = {}, id = 1): Record<string, unknown> {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

function challengeOf({ status, headers }: AgentReply): unknown {
  return [status, headers.get("www-authenticate")];
}

/** The texts of the results of a batch. */
function textsOf({ body }: AgentReply): unknown {
  return (body as unknown as { result: { content: { text: string }[] } }[]).map(({ result }) =>
    result.content[0]!.text
  );
}

Deno.test("A guard's 401 of a tool call is an HTTP reply with its WWW-Authenticate", async () => {
  const app = new App();
  app.get("/me", { deps: { user }, tool: true }, async function me(_request, { user }) {
    return { user };
  });
  const stranger = new Agent(app);
  const reply = await stranger.post(callOf("me"));
  assertEquals(challengeOf(reply), [401, 'Bearer realm="bearer"']);
  assertEquals(reply.headers.get("content-type"), "application/problem+json");
  assertEquals(reply.body?.detail, "Send a bearer token in the Authorization header");
  assertEquals(challengeOf(await stranger.askModern("tools/call", { name: "me", arguments: {} })), [
    401,
    'Bearer realm="bearer"',
  ]);
  const wrong = new Agent(app, URL, { authorization: "Bearer eve" });
  assertEquals(challengeOf(await wrong.post(callOf("me"))), [401, 'Bearer realm="bearer", error="invalid_token"']);
  assertEquals(await new Agent(app, URL, { authorization: "Bearer ada" }).result("me"), { user: "Ada" });
});

Deno.test("A 403 with insufficient_scope is an HTTP reply, another 403 is a result", async () => {
  const app = new App();
  const challenge = 'Bearer realm="books", error="insufficient_scope", scope="books:write"';
  app.get(
    "/scope",
    { deps: { a: refusing(403, { "www-authenticate": challenge }) }, tool: true },
    async function scope() {},
  );
  app.get("/plain", { deps: { a: refusing(403) }, tool: true }, async function plain() {});
  const other = { "www-authenticate": 'Bearer realm="no insufficient_scope", error="invalid_token"' };
  app.get("/other", { deps: { a: refusing(403, other) }, tool: true }, async function other() {});
  const agent = new Agent(app);
  assertEquals(challengeOf(await agent.post(callOf("scope"))), [403, challenge]);
  assertEquals(await agent.failure("plain"), "403 Forbidden: Refused");
  assertEquals(await agent.failure("other"), "403 Forbidden: Refused");
});

Deno.test("Any other refusal is a result with the detail and the seconds of Retry-After", async () => {
  const app = new App();
  app.get("/full", { deps: { a: refusing(429, { "retry-after": "30" }) }, tool: true }, async function full() {});
  app.get("/away", { deps: { a: refusing(503, { "retry-after": "5" }) }, tool: true }, async function away() {});
  const past = new Date(0).toUTCString();
  app.get("/past", { deps: { a: refusing(503, { "retry-after": past }) }, tool: true }, async function past() {});
  app.get("/odd", { deps: { a: refusing(429, { "retry-after": "soon" }) }, tool: true }, async function odd() {});
  app.get("/own", { tool: true }, async function own() {
    throw new HTTPError(401, "Not by a guard", { headers: { "www-authenticate": "Bearer" } });
  });
  const agent = new Agent(app);
  assertEquals(await agent.failure("full"), "429 Too Many Requests: Refused\nRetry after 30 s");
  assertEquals(await agent.failure("away"), "503 Service Unavailable: Refused\nRetry after 5 s");
  assertEquals(await agent.failure("past"), "503 Service Unavailable: Refused\nRetry after 0 s");
  assertEquals(await agent.failure("odd"), "429 Too Many Requests: Refused");
  assertEquals(await agent.failure("own"), "401 Unauthorized: Not by a guard");
});

Deno.test("onError and the application's middleware make the HTTP reply of a challenge", async () => {
  const app = new App();
  const seen: unknown[] = [];
  app.middleware(async (request, next) => {
    const response = await next(request);
    seen.push([request.path, response.status]);
    response.headers.set("x-seen", "yes");
    return response;
  });
  app.onError((error) =>
    new Response(`shaped ${error.detail}`, { status: error.status, headers: error.headers ?? {} })
  );
  app.get("/me", { deps: { user }, tool: true }, async function me() {});
  const response = await app.fetch(
    new Request(URL, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(callOf("me")),
    }),
  );
  assertEquals([response.status, response.headers.get("x-seen")], [401, "yes"]);
  assertEquals(response.headers.get("www-authenticate"), 'Bearer realm="bearer"');
  assertEquals(await response.text(), "shaped Send a bearer token in the Authorization header");
  assertEquals(seen, [["/me", 401], ["/mcp", 401]]);
});

Deno.test("In a batch the challenge is the reply to the whole request, before any call runs", async () => {
  const app = new App();
  const called: string[] = [];
  app.post("/open", { tool: true }, async function open() {
    called.push("open");
    return "a secret of another call";
  });
  app.post("/me", { deps: { user }, tool: true }, async function me() {
    called.push("me");
    return "mine";
  });
  app.post("/admin", {
    deps: { a: refusing(401, { "www-authenticate": "Basic realm=admin" }) },
    tool: true,
  }, async function admin() {});
  const stranger = new Agent(app);
  const reply = await stranger.post([callOf("open"), callOf("me"), callOf("admin"), callOf("open")]);
  assertEquals(challengeOf(reply), [401, 'Bearer realm="bearer"']);
  assertEquals(
    reply.body,
    {
      type: "about:blank",
      title: "Unauthorized",
      status: 401,
      detail: "Send a bearer token in the Authorization header",
    } as AgentReply["body"],
  );
  assertEquals(called, []);
  const known = new Agent(app, URL, { authorization: "Bearer ada" });
  assertEquals(challengeOf(await known.post([callOf("me"), callOf("admin")])), [401, "Basic realm=admin"]);
  assertEquals(called, []);
  assertEquals(textsOf(await known.post([callOf("open"), callOf("me")])), [
    '{"result":"a secret of another call"}',
    '{"result":"mine"}',
  ]);
  assertEquals(called, ["open", "me"]);
});

Deno.test("In a batch the guards of all calls run before any handler, also those by arguments", async () => {
  const app = new App();
  const called: unknown[] = [];
  const member = dependency(
    { params: { club: v.string() }, security: { own: { type: "http", scheme: "bearer" } } },
    async (_request, { club }) => {
      called.push(`guard ${club}`);
      if (club === "closed") throw new HTTPError(401, "No member");
      if (club === "full") throw new HTTPError(403, "The club is full");
    },
  );
  app.get(
    "/clubs/{club}",
    { params: { club: v.string() }, deps: { member }, tool: true },
    async function club(_request, { club }) {
      called.push(`handler ${club}`);
      return club;
    },
  );
  const agent = new Agent(app);
  assertEquals((await agent.post([callOf("club", { club: "a" }), callOf("club", { club: "closed" })])).status, 401);
  assertEquals(called, ["guard a", "guard closed"]);
  called.length = 0;
  const answered = await agent.post([
    callOf("club", { club: "a" }),
    callOf("club", { club: "full" }),
    callOf("club", { wrong: 1 }),
    callOf("nothing"),
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: 7 } },
    { jsonrpc: "2.0", id: 1, method: "tools/call" },
    { jsonrpc: "2.0", id: 1, method: "ping" },
  ]);
  assertEquals(answered.status, 200);
  assertEquals(called.slice(0, 2), ["guard a", "guard full"]);
  assertEquals(called.toSorted(), ["guard a", "guard a", "guard full", "guard full", "handler a"]);
});

Deno.test("In a batch with one call its guards run once, and their challenge is the reply", async () => {
  let asked = 0;
  let called = 0;
  const once = bearer(async () => ++asked === 1 && "Ada");
  const app = new App();
  app.post("/me", { deps: { once }, tool: true }, async function me() {
    called++;
    return "mine";
  });
  const agent = new Agent(app, URL, { authorization: "Bearer one-time" });
  const batch = [{ jsonrpc: "2.0", id: 1, method: "tools/list" }, callOf("me")];
  const [, answer] = (await agent.post(batch)).body as unknown as unknown[];
  assertEquals((answer as { result: unknown }).result, {
    content: [{ type: "text", text: '{"result":"mine"}' }],
    structuredContent: { result: "mine" },
  });
  assertEquals(challengeOf(await agent.post(batch)), [401, 'Bearer realm="bearer", error="invalid_token"']);
  assertEquals([asked, called], [2, 1]);
});

Deno.test("After a challenge no further guard of a batch is asked", async () => {
  const app = new App();
  let asked = 0;
  const counting = dependency({ security: { own: { type: "http", scheme: "bearer" } } }, async () => {
    asked++;
    throw new HTTPError(401);
  });
  app.get("/me", { deps: { counting }, tool: true }, async function me() {});
  const reply = await new Agent(app).post(Array.from({ length: 100 }, (_, id) => callOf("me", {}, id)));
  assertEquals(reply.status, 401);
  assert(asked <= 4, `${asked} were asked`);
});

Deno.test("A batch can be larger than the pool that its guards take connections from", async () => {
  let free = 2;
  const waiting: (() => void)[] = [];
  const connection = dependency(async function* () {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free--;
    yield "connection";
    if (waiting.length > 0) waiting.shift()!();
    else free++;
  });
  const guard = dependency(
    { deps: { connection }, security: { own: { type: "http", scheme: "bearer" } } },
    async (_request, { connection }) => connection,
  );
  const app = new App();
  app.get("/me", { deps: { guard }, tool: true }, async function me() {
    return "mine";
  });
  await using serving = await Serving.start(app);
  const agent = new Agent((request) => fetch(request), `${serving.origin}/mcp`);
  const reply = await agent.post(Array.from({ length: 20 }, (_, id) => callOf("me", {}, id)));
  assertEquals(textsOf(reply), Array(20).fill('{"result":"mine"}'));
});

Deno.test("Guards of routers are asked inside of the routers' middleware", async () => {
  const app = new App();
  const router = new Router();
  router.middleware(async (request, next) => {
    request.locals.set("user", request.headers.get("x-user"));
    return await next(request);
  });
  const fromLocals = dependency(
    { security: { own: { type: "apiKey", in: "header", name: "x-user" } } },
    async (request: HttpRequest) => {
      if (request.locals.get("user") !== null) return;
      throw new HTTPError(401, "Nobody");
    },
  );
  router.get("/me", { deps: { fromLocals }, tool: true }, async function me() {
    return "mine";
  });
  app.include(router);
  const known = new Agent(app, URL, { "x-user": "ada" });
  assertEquals(textsOf(await known.post([callOf("me"), callOf("me")])), Array(2).fill('{"result":"mine"}'));
  assertEquals((await new Agent(app).post([callOf("me"), callOf("me")])).status, 401);
});

Deno.test("A header that no reply can have is a 500, and nothing of it is sent", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const headers = { "www-authenticate": 'Bearer realm="a\r\nx-evil: 1", error="insufficient_scope"' };
  app.get("/one", { deps: { a: refusing(401, headers) }, tool: true }, async function one() {});
  app.get("/two", { deps: { a: refusing(403, headers) }, tool: true }, async function two() {});
  const agent = new Agent(app);
  const reply = await agent.post(callOf("one"));
  assertEquals([reply.status, reply.headers.get("x-evil")], [500, null]);
  assertEquals(await agent.failure("two"), "500 Internal Server Error");
});

Deno.test("A key that the query of the endpoint carries reaches the guard, and not the result", async () => {
  const app = new App();
  const key = dependency(
    { security: { key: { type: "apiKey", in: "query", name: "key" } } },
    async (request: HttpRequest) => {
      if (request.query.get("key") !== "k-1") throw new HTTPError(401, "Send a key");
    },
  );
  app.get("/file", { query: { part: v.optional(v.string()) }, deps: { key }, tool: true }, async function file() {
    return new Blob([new Uint8Array([1])], { type: "application/pdf" });
  });
  assertEquals((await new Agent(app).post(callOf("file"))).status, 401);
  const { content } = await new Agent(app, `${URL}?key=k-1&part=2`).call("file", { part: "1" });
  assertEquals((content[0] as unknown as { resource: { uri: string } }).resource.uri, "http://localhost/file?part=1");
});

Deno.test("Guards of scopes hold for tools, in their order", async () => {
  const order: string[] = [];
  const named = (name: string, status?: number) =>
    dependency(async () => {
      order.push(name);
      if (status !== undefined) throw new HTTPError(status, `Refused by ${name}`);
    });
  const app = new App({ deps: { outer: named("app") } });
  const router = new Router({ prefix: "/books", deps: { inner: named("router", 401) } });
  router.get("/{id}", { params: { id: v.number() }, deps: { user }, tool: true }, async function book() {});
  app.include(router, { deps: { between: named("include") } });
  for (const message of [callOf("book", { id: 1 }), callOf("book", { id: "x" }), [callOf("book", { id: 1 })]]) {
    const reply = await new Agent(app).post(message);
    assertEquals([reply.status, reply.body?.detail], [401, "Refused by router"]);
    assertEquals(order.splice(0), ["app", "include", "router"]);
  }
});
