// Section 1 of the contract of guards: "They hold for every route of the scope, WebSockets and
// tools included, and for routers included into it; those of an application not for built-in
// endpoints, 404, 405 and preflights, which are middleware's."

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, RouteError, Router, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Agent } from "../../agents/agent.ts";
import { ticks } from "../support/ticks.ts";

const int = v.pipe(v.number(), v.integer());

/** The steps of requests, in their order. */
function stepLog() {
  const log: string[] = [];
  /** A dependency that logs when it is made and cleaned up. */
  const step = (name: string) =>
    dependency(async function* () {
      log.push(name);
      try {
        yield name;
      } finally {
        log.push(`${name} ends`);
      }
    });
  return { log, step };
}

/** The reply to one request. Its cleanups have run. */
async function asked(app: App, path: string): Promise<unknown> {
  await using client = new TestClient(app);
  return await client.get(path).json();
}

/** A guard that refuses requests with a header of its name. */
function refusing(name: string, log: string[] = []) {
  return dependency(async (request) => {
    log.push(name);
    if (request.headers.has(`x-refused-by-${name}`)) throw new HTTPError(403, `Refused by ${name}`);
    return name;
  });
}

Deno.test("The values of a router's or an application's `deps` are arguments of the routes declared on that same router or application", async () => {
  const { step } = stepLog();
  const app = new App({ deps: { client: step("client") } });
  app.get("/own/{id}", async (_request, args) => args);
  app.get("/options/{id}", { params: { id: int }, deps: { more: async () => 1 } }, async (_request, args) => args);
  const admin = new Router({ prefix: "/admin/{org}", deps: { user: step("user"), level: async () => 3 } });
  admin.get("/{id}", { query: { q: v.optional(v.string(), "") } }, async (_request, args) => args);
  app.include(admin, { deps: { tenant: step("tenant") } });
  await using client = new TestClient(app);
  assertEquals(await client.get("/own/1").json(), { id: "1", client: "client" });
  assertEquals(await client.get("/options/1").json(), { id: 1, client: "client", more: 1 });
  // Deps of an include, and of an outer scope, are run and not handed over.
  assertEquals(await client.get("/admin/acme/1").json(), { org: "acme", id: "1", q: "", user: "user", level: 3 });
});

Deno.test("Guards are resolved from the outermost scope inwards: the application, then for each level the include and its router, then the route's own", async () => {
  const { log, step } = stepLog();
  const app = new App({ deps: { app: step("app") } });
  app.middleware(async (request, next) => {
    log.push("middleware");
    return await next(request);
  });
  const outer = new Router({ deps: { outer: step("outer") } });
  const inner = new Router({ deps: { inner: step("inner") } });
  inner.middleware(async (request, next) => {
    log.push("inner middleware");
    return await next(request);
  });
  const own = dependency({ security: { key: { type: "apiKey", in: "header", name: "x-key" } } }, async () => {
    log.push("own");
  });
  inner.get("/", { deps: { own, plain: step("plain") } }, async () => log.push("handler"));
  outer.include(inner, { deps: { innerInclude: step("inner include") } });
  app.include(outer, { deps: { outerInclude: step("outer include") } });
  await asked(app, "/");
  const made = ["app", "outer include", "outer", "inner include", "inner"];
  assertEquals(log, [
    ...["middleware", "inner middleware", ...made, "own", "plain", "handler"],
    ...["plain", ...made.toReversed()].map((name) => `${name} ends`),
  ]);
});

Deno.test("A scope's guards are resolved in parallel, and the next scope's only when all of them are through", async () => {
  const log: string[] = [];
  const both = Promise.withResolvers<void>();
  let entered = 0;
  const meeting = (name: string) =>
    dependency(async () => {
      if (++entered === 2) both.resolve();
      await both.promise;
      log.push(name);
      return name;
    });
  const app = new App({ deps: { one: meeting("one"), two: meeting("two") } });
  const router = new Router({ deps: { late: refusing("late", log) } });
  router.get("/", async () => 1);
  app.include(router);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), 1);
  assertEquals(log, ["one", "two", "late"]);
});

Deno.test("Whatever a guard throws is the reply, of several in one scope the first declared; inner scopes do not run", async () => {
  const log: string[] = [];
  const slow = dependency(async () => {
    await ticks(1);
    log.push("slow ends");
    throw new HTTPError(401, "Refused by slow");
  });
  const app = new App({ deps: { slow, quick: refusing("quick", log) } });
  const router = new Router({ deps: { inner: refusing("inner", log) } });
  router.get("/", async () => log.push("handler"));
  app.include(router);
  app.middleware(async (request, next) => {
    const reply = await next(request);
    log.push(`middleware sees ${reply.status}`);
    return reply;
  });
  await using client = new TestClient(app);
  const reply = await client.get("/", { headers: { "x-refused-by-quick": "yes" } });
  assertEquals([reply.status, (await reply.json()).detail], [401, "Refused by slow"]);
  assertEquals(log, ["quick", "slow ends", "middleware sees 401"]);
});

Deno.test("Each scope refuses before anything else of the request is validated and before its body is read", async () => {
  const app = new App({ deps: { app: refusing("app") } });
  const router = new Router({ deps: { router: refusing("router") } });
  const own = dependency({ deps: { own: refusing("own") }, security: { key: { type: "mutualTLS" } } }, async () => 1);
  const options = { params: { id: int }, query: { page: int }, body: v.object({ a: int }), deps: { own } };
  router.post("/{id}", options, async () => 1);
  app.include(router, { deps: { include: refusing("include") } });
  for (const name of ["app", "include", "router", "own"]) {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({ pull: () => void pulled++ }, { highWaterMark: 0 });
    const request = new Request("http://localhost/x?page=y", {
      method: "POST",
      headers: { "content-type": "application/json", [`x-refused-by-${name}`]: "yes" },
      body,
    });
    const reply = await app.fetch(request);
    assertEquals([reply.status, (await reply.json()).detail, pulled], [403, `Refused by ${name}`, 0]);
    await body.cancel().catch(() => {});
  }
});

Deno.test("A guard's own inputs that are invalid are 422 with all issues of that guard's scope; then all other inputs are validated together", async () => {
  const of = (name: string, more = {}) =>
    dependency({ query: { [name]: int }, headers: { [`x-${name}`]: int }, ...more }, async () => name);
  const app = new App({ deps: { a: of("a"), b: of("b") } });
  const router = new Router({ prefix: "/{shop}", deps: { c: of("c") } });
  const own = of("own", { security: { key: { type: "mutualTLS" } } });
  router.get("/{id}", { params: { id: int }, deps: { own, rest: of("rest") } }, async () => 1);
  app.include(router);
  await using client = new TestClient(app);
  const faults = async (query: string, headers: Record<string, string> = {}) => {
    const reply = await client.get(`/top/x?${query}`, { headers });
    const { errors = [] } = await reply.json();
    return [reply.status, ...errors.map(({ path }: { path: string[] }) => path[0])];
  };
  assertEquals(await faults(""), [422, "a", "x-a", "b", "x-b"]);
  assertEquals(await faults("a=1&b=1", { "x-a": "1", "x-b": "1" }), [422, "c", "x-c"]);
  const headers = { "x-a": "1", "x-b": "1", "x-c": "1" };
  assertEquals(await faults("a=1&b=1&c=1", headers), [422, "own", "x-own"]);
  assertEquals(await faults("a=1&b=1&c=1&own=1", { ...headers, "x-own": "1" }), [422, "id", "rest", "x-rest"]);
});

Deno.test("Of async schemas, too, all issues of the scope are in one 422", async () => {
  const even = v.pipeAsync(v.number(), v.checkAsync(async (number) => number % 2 === 0, "Odd"));
  const app = new App({ deps: { a: dependency({ query: { a: even, b: int } }, async (_request, { a }) => a) } });
  app.get("/", async (_request, { a }) => a);
  await using client = new TestClient(app);
  const reply = await client.get("/?a=1&b=x");
  assertEquals((JSON.parse(await reply.text()) as { errors: unknown[] }).errors.length, 2);
  assertEquals(await client.get("/?a=2&b=1").json(), 2);
});

Deno.test("A dependency that an outer scope has made is not made again: its value is handed over", async () => {
  const { log, step } = stepLog();
  const shared = step("shared");
  const needing = dependency({ deps: { under: shared } }, async (_request, { under }) => `needs ${under}`);
  const app = new App({ deps: { one: shared } });
  const router = new Router({ deps: { two: shared } });
  router.get("/", { deps: { three: shared, needing } }, async (_request, args) => args);
  router.get("/only", async (_request, args) => args);
  app.include(router, { deps: { include: shared } });
  assertEquals(await asked(app, "/"), { two: "shared", three: "shared", needing: "needs shared" });
  assertEquals(await asked(app, "/only"), { two: "shared" });
  assertEquals(log, ["shared", "shared ends", "shared", "shared ends"]);
});

Deno.test("What a guard needs is resolved with it; any dependency below a route's `deps` that declares `security` is a guard, also where only another dependency needs it", async () => {
  const log: string[] = [];
  const connection = refusing("connection", log);
  const user = dependency({ deps: { connection }, security: { key: { type: "mutualTLS" } } }, async () => {
    log.push("user");
    return "Ada";
  });
  const page = dependency({ query: { page: int }, deps: { user } }, async (_request, { user }) => user);
  const app = new App();
  app.get("/", { deps: { page } }, async (_request, { page }) => page);
  await using client = new TestClient(app);
  assertEquals((await client.get("/?page=x")).status, 422);
  assertEquals(log, ["connection", "user"]);
  assertEquals((await client.get("/?page=x", { headers: { "x-refused-by-connection": "yes" } })).status, 403);
});

Deno.test("Guards of scopes hold for WebSockets, and refuse before the upgrade", async () => {
  const app = new App({ deps: { app: refusing("app") } });
  const router = new Router({ deps: { name: refusing("router") } });
  router.websocket("/socket/{id}", async (socket, { id, name }) => socket.send(`${id} ${name}`));
  router.websocket(
    "/options",
    { query: { q: v.string() } },
    async (socket, { q, name }) => socket.send(`${q} ${name}`),
  );
  app.include(router);
  await using client = new TestClient(app);
  const upgrade = {
    connection: "upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  for (const name of ["app", "router"]) {
    const reply = await client.get("/socket/1", { headers: { ...upgrade, [`x-refused-by-${name}`]: "yes" } });
    assertEquals([reply.status, (await reply.json()).detail], [403, `Refused by ${name}`]);
  }
});

Deno.test("A WebSocket handler gets the values of its router's `deps`, which are cleaned up when the connection has ended", async () => {
  const { log, step } = stepLog();
  const app = new App({ deps: { app: step("app") } });
  const router = new Router({ deps: { user: step("user") } });
  router.websocket("/socket/{id}", async (socket, { id, user }) => {
    log.push("open");
    socket.send(`${id} ${user}`);
  });
  app.include(router);
  await using client = new TestClient(app);
  const socket = await client.websocket("/socket/7");
  assertEquals(await socket.receive(), "7 user");
  await socket.ended;
  await client.close();
  assertEquals(log, ["app", "user", "open", "user ends", "app ends"]);
});

Deno.test("Guards of an application do not hold for built-in endpoints, 404, 405 and preflights", async () => {
  const closed = dependency(async () => Promise.reject(new HTTPError(401, "Closed")));
  const app = new App({ deps: { closed }, origins: ["https://shop.example"] });
  app.get("/", async () => 1);
  await using client = new TestClient(app);
  const statuses = [];
  for (const path of ["/", "/openapi.json", "/docs", "/nowhere"]) statuses.push((await client.get(path)).status);
  assertEquals(statuses, [401, 200, 200, 404]);
  assertEquals((await client.post("/")).status, 405);
  const headers = { origin: "https://shop.example", "access-control-request-method": "GET" };
  assertEquals((await client.request("OPTIONS", "/", { headers })).status, 204);
});

Deno.test("Guards of scopes hold for tools: also where the arguments of a call are invalid", async () => {
  const app = new App({ deps: { app: refusing("app") } });
  const router = new Router({ deps: { router: refusing("router") } });
  router.get("/books/{id}", { params: { id: int }, tool: true }, async function getBook(_request, { id }) {
    return id;
  });
  app.include(router);
  await using client = new TestClient(app);
  const call = async (id: unknown, headers: Record<string, string> = {}) => {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "getBook", arguments: { id } } };
    const version = { "mcp-protocol-version": "2025-11-25", accept: "application/json, text/event-stream" };
    const reply = await client.post("/mcp", { json: message, headers: { ...version, ...headers } });
    return (await reply.json()).result.content[0].text as string;
  };
  assertEquals(await call(7), '{"result":7}');
  for (const name of ["app", "router"]) {
    for (const id of [7, "seven"]) {
      const text = await call(id, { [`x-refused-by-${name}`]: "yes" });
      assertEquals(text.includes(`Refused by ${name}`), true, text);
    }
  }
  assertEquals((await call("seven")).includes("422"), true);
});

Deno.test("A name that is bound twice is a `RouteError` with code `conflict`, also where the prefix of an include binds a name of the router's `deps`", () => {
  const user = async () => "Ada";
  const conflict = (declare: () => void, message: string) =>
    assertEquals(assertThrows(declare, RouteError, message).code, "conflict");
  const app = new App({ deps: { user } });
  const any = app as unknown as App;
  conflict(() => any.get("/{user}", async () => 1), 'Cannot bind "user" of GET /{user}');
  conflict(() => any.get("/a", { query: { user: v.string() } }, async () => 1), 'Cannot bind "user" of GET /a');
  conflict(() => any.get("/a", { deps: { user } }, async () => 1), 'Cannot bind "user" of GET /a');
  conflict(
    () => new Router({ prefix: "/{user}" as string, deps: { user } }),
    'Cannot make a router at "/{user}": the prefix and a dependency both bind "user", rename one',
  );
  const router = new Router({ deps: { user } });
  router.get("/a", async () => 1);
  conflict(() => app.include(router, { prefix: "/{user}" }), 'Cannot bind "user" of GET /{user}/a');
  app.include(router, { prefix: "/{name}" });
});

Deno.test("`params` of a router's guard may name what its own paths hold; those of an include and of outer scopes anything in the full path", async () => {
  const ofShop = dependency({ params: { shop: int } }, async (_request, { shop }) => shop * 2);
  const path = (declare: () => void, message: string) =>
    assertEquals(assertThrows(declare, RouteError, message).code, "path");
  const own = new Router({ prefix: "/shops/{shop}", deps: { double: ofShop } });
  own.get("/", async (_request, { double }) => double);
  const bare = new Router({ deps: { double: ofShop } });
  path(() => bare.get("/books", async () => 1), 'it has no "{shop}"');
  const below = new Router();
  below.get("/books", async () => 1);
  const outer = new Router({ deps: { double: ofShop } });
  outer.include(below);
  const app = new App();
  app.include(own);
  app.include(outer, { prefix: "/outer/{shop}" });
  app.include(below, { prefix: "/include/{shop}", deps: { double: ofShop } });
  path(
    () => app.include(below, { deps: { double: ofShop } }),
    'Cannot bind the path of dependency in GET /books: it has no "{shop}"',
  );
  path(() => new App({ deps: { double: ofShop } }).include(below), 'it has no "{shop}"');
  await using client = new TestClient(app);
  assertEquals(await client.get("/shops/2/").json(), 4);
  for (const place of ["outer", "include"]) {
    assertEquals(await client.get(`/${place}/2/books`).json(), 1);
    assertEquals((await client.get(`/${place}/x/books`)).status, 422);
  }
});

Deno.test("A guard of a scope reads the path where a route has its query parameter there", async () => {
  const named = dependency({ query: { name: v.string() } }, async (_request, { name }) => name);
  const app = new App({ deps: { named } });
  app.get("/path/{name}", { deps: {} }, async (_request, { named, name }) => [named, name]);
  app.get("/query", async (_request, { named }) => named);
  app.get("/other/{first}/{name}", async (_request, { named }) => named);
  await using client = new TestClient(app);
  assertEquals(await client.get("/path/Ada?name=Eve").json(), ["Ada", "Ada"]);
  assertEquals(await client.get("/query?name=Eve").json(), "Eve");
  assertEquals(await client.get("/other/a/Ada").json(), "Ada");
});

Deno.test("A router that is included twice has each time the guards of its place", async () => {
  const { log, step } = stepLog();
  const router = new Router({ deps: { user: step("user") } });
  router.get("/{id}", { params: { id: int } }, async (_request, args) => args);
  const app = new App();
  app.include(router, { prefix: "/open" });
  app.include(router, { prefix: "/closed", deps: { first: step("first"), second: step("second") } });
  assertEquals(await asked(app, "/open/1"), { id: 1, user: "user" });
  assertEquals(log.splice(0), ["user", "user ends"]);
  assertEquals(await asked(app, "/closed/2"), { id: 2, user: "user" });
  assertEquals(log, ["first", "second", "user", "user ends", "second ends", "first ends"]);
});

Deno.test("Deps of a scope share the state of the application", async () => {
  const state = stateType<{ names: string[] }>();
  const app = new App({ state, deps: { first: async (request) => request.state.names[0] } });
  app.lifespan(async function* () {
    yield { names: ["Ada"] };
  });
  app.get("/", async (_request, { first }) => first);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), "Ada");
});

Deno.test("Wrong `deps` of a scope throw where they are declared", () => {
  const list = { deps: [async () => 1] } as never;
  const message = "Cannot use the dependencies: give each one by the name of its argument, write deps: { user }";
  assertThrows(() => new Router(list), TypeError, message);
  assertThrows(() => new App(list), TypeError, message);
  assertThrows(() => new App().include(new Router(), list), TypeError, message);
  assertThrows(() => new App().get("/", list, async () => 1), TypeError, message);
  assertThrows(() => new Router({ deps: { user: (() => 1) as never } }), TypeError, "must be async");
});

Deno.test("Guards and limits of an application do not hold for the endpoint of tools itself, but for the routes of its calls", async () => {
  let asked = 0;
  const client = dependency(async () => {
    asked++;
    throw new HTTPError(403, "Closed");
  });
  const app = new App({ deps: { client }, rateLimit: { limit: 1, per: "1h", by: () => "everyone" } });
  app.get("/books", { tool: true }, async function listBooks() {
    return [];
  });
  const agent = new Agent(app);
  await agent.ask("ping");
  await agent.ask("ping");
  assertEquals((await agent.tool()).name, "listBooks");
  assertEquals(asked, 0);
  assertStringIncludes(await agent.failure("listBooks") ?? "", "Closed");
  assertEquals(asked, 1);
  assertStringIncludes(await agent.failure("listBooks") ?? "", "3600 s");
  assertEquals(asked, 1);
});

Deno.test("Deps of an include, and of an outer scope, are run and not handed over, so their names are free", async () => {
  const { log, step } = stepLog();
  const app = new App({ deps: { user: step("app") } });
  const outer = new Router({ deps: { user: step("outer") } });
  const inner = new Router({ deps: { tenant: step("inner") } });
  inner.get("/{user}", { query: { q: v.optional(v.string(), "none") } }, async (_request, args) => args);
  outer.include(inner, { deps: { tenant: step("include"), q: step("include, too") } });
  app.include(outer);
  await using client = new TestClient(app);
  assertEquals(await client.get("/Ada").json(), { user: "Ada", q: "none", tenant: "inner" });
  assertEquals(log.slice(0, 5), ["app", "outer", "include", "include, too", "inner"]);
});
