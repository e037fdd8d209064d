// Section 3 of the contract of guards: rate limits.

import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import * as v from "valibot";
import { Agent } from "../../agents/agent.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { askFrom, statusesFrom } from "../support/from_address.ts";
import { Serving } from "../support/serving.ts";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

const HOST = "203.0.113.7";
const OTHER = "203.0.113.8";
const once = { limit: 1, per: "1h" } as const;

const user = bearer(async (token) => token === "wrong" ? null : { id: token });
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

Deno.test("rateLimit: { limit, per } on a route counts by remoteAddress", async () => {
  const app = new App();
  app.get("/", { rateLimit: { limit: 2, per: "1h" } }, async () => "fine");
  assertEquals(await statusesFrom(app, HOST, ["/", "/", "/", "/"]), [200, 200, 429, 429]);
  assertEquals(await statusesFrom(app, OTHER, ["/", "/", "/"]), [200, 200, 429]);
});

Deno.test("429 with Retry-After and RateLimit/RateLimit-Policy, which replies before it carry, too", async () => {
  const app = new App();
  app.get("/", { rateLimit: { limit: 2, per: "90s" } }, async () => "fine");
  const first = await askFrom(app, HOST);
  assertEquals(first.headers.get("ratelimit-policy"), '"1";q=2;w=90');
  assertEquals(first.headers.get("ratelimit"), '"1";r=1;t=90');
  assertEquals(first.headers.get("retry-after"), null);
  assertEquals((await askFrom(app, HOST)).headers.get("ratelimit"), '"1";r=0;t=90');
  const refused = await askFrom(app, HOST);
  assertEquals(refused.status, 429);
  assertEquals(refused.headers.get("retry-after"), "90");
  assertEquals(refused.headers.get("ratelimit-policy"), '"1";q=2;w=90');
  assertEquals(refused.headers.get("ratelimit"), '"1";r=0;t=90');
  const { title, detail } = JSON.parse(refused.body);
  assertEquals([title, detail], ["Too Many Requests", "Too many requests: try again in 90 s"]);
});

Deno.test("Pages of other origins may read what is left", async () => {
  const app = new App({ origins: ["https://shop.example"] });
  app.get("/", { rateLimit: once }, async () => "fine");
  const init = { headers: { origin: "https://shop.example" } };
  for (const status of [200, 429]) {
    const reply = await askFrom(app, HOST, "/", init);
    assertEquals(reply.status, status);
    assertStringIncludes(reply.headers.get("access-control-expose-headers") ?? "", "ratelimit, ratelimit-policy");
  }
});

Deno.test("A route without a limit carries no header of it", async () => {
  const app = new App();
  app.get("/", async () => "fine");
  app.get("/limited", { rateLimit: once }, async () => "fine");
  const { headers } = await askFrom(app, HOST);
  assertFalse(headers.has("ratelimit") || headers.has("ratelimit-policy"));
});

Deno.test("The error handler shapes a 429, which keeps its headers", async () => {
  const app = new App();
  app.get("/", { rateLimit: once }, async () => "fine");
  app.onError((error) => new Response(`${error.status}`, { status: error.status, headers: error.headers ?? {} }));
  await askFrom(app, HOST);
  const { body, headers } = await askFrom(app, HOST);
  assertEquals([body, headers.get("retry-after"), headers.get("ratelimit")], ["429", "3600", '"1";r=0;t=3600']);
});

Deno.test("Application, router, include and route: each is counted by itself, for its routes together", async () => {
  const inner = new Router({ rateLimit: { limit: 3, per: "1h" } });
  inner.get("/a", { rateLimit: { limit: 2, per: "1h" } }, async () => "a");
  inner.get("/b", async () => "b");
  const app = new App({ rateLimit: { limit: 6, per: "1h" } });
  app.include(inner, { rateLimit: { limit: 4, per: "1h" } });
  app.get("/c", async () => "c");
  const { headers } = await askFrom(app, HOST, "/a");
  assertEquals(headers.get("ratelimit"), '"1";r=5;t=3600, "2";r=3;t=3600, "3";r=2;t=3600, "4";r=1;t=3600');
  // The route, then its router, then the include, then the application.
  assertEquals(await statusesFrom(app, HOST, ["/a", "/a"]), [200, 429]);
  assertEquals(await statusesFrom(app, HOST, ["/b"]), [429]);
  assertEquals((await askFrom(app, HOST, "/c")).headers.get("ratelimit"), '"1";r=1;t=3600');
  assertEquals(await statusesFrom(app, HOST, ["/c", "/c", "/b"]), [200, 429, 429]);
});

Deno.test("Of several limits, those after one that refuses do not count the request", async () => {
  const app = new App();
  app.get("/", { rateLimit: [{ limit: 1, per: "1h" }, { limit: 5, per: "2h" }] }, async () => "fine");
  await askFrom(app, HOST);
  const refused = await askFrom(app, HOST);
  assertEquals(refused.headers.get("ratelimit"), '"1";r=0;t=3600');
  assertEquals(refused.headers.get("ratelimit-policy"), '"1";q=1;w=3600');
  const reversed = new App();
  reversed.get("/", { rateLimit: [{ limit: 5, per: "2h" }, { limit: 1, per: "1h" }] }, async () => "fine");
  await askFrom(reversed, HOST);
  assertEquals((await askFrom(reversed, HOST)).headers.get("ratelimit"), '"1";r=3;t=7200, "2";r=0;t=3600');
});

Deno.test("One object for two routes is two declarations, and methods of one route are one", async () => {
  const app = new App();
  app.get("/a", { rateLimit: once }, async () => "a");
  app.get("/b", { rateLimit: once }, async () => "b");
  app.route("/c", { methods: ["GET", "POST"], rateLimit: once }, async () => "c");
  assertEquals(await statusesFrom(app, HOST, ["/a", "/b", "/c"]), [200, 200, 200]);
  assertEquals(await statusesFrom(app, HOST, ["/c"], { method: "POST" }), [429]);
});

Deno.test("A router in two places is counted once, its includes each for itself", async () => {
  const router = new Router({ rateLimit: { limit: 3, per: "1h" } });
  router.get("", async () => "fine");
  const app = new App();
  app.include(router, { prefix: "/a", rateLimit: { limit: 2, per: "1h" } });
  app.include(router, { prefix: "/b", rateLimit: { limit: 2, per: "1h" } });
  assertEquals(await statusesFrom(app, HOST, ["/a", "/a", "/a", "/b", "/b"]), [200, 200, 429, 200, 429]);
});

Deno.test("HEAD counts as GET", async () => {
  const app = new App();
  app.get("/", { rateLimit: once }, async () => "fine");
  assertEquals(await statusesFrom(app, HOST, ["/"], { method: "HEAD" }), [200]);
  assertEquals(await statusesFrom(app, HOST, ["/"]), [429]);
});

Deno.test("by: (request) => string | null counts before the guards, and null is not counted", async () => {
  const app = new App();
  app.get("/", {
    rateLimit: { ...once, by: (request) => request.headers.get("x-tenant") },
    deps: { user },
  }, async () => "fine");
  const from = (tenant: string) => ({ headers: { "x-tenant": tenant } });
  assertEquals(await statusesFrom(app, HOST, ["/", "/"], from("a")), [401, 429]);
  assertEquals(await statusesFrom(app, HOST, ["/"], from("b")), [401]);
  assertEquals(await statusesFrom(app, HOST, ["/", "/", "/"], as("ada")), [200, 200, 200]);
});

Deno.test("By address, it counts before the guards of its scope, and after those of outer scopes", async () => {
  const router = new Router({ rateLimit: once });
  router.get("/", async () => "fine");
  const app = new App({ deps: { user } });
  app.include(router);
  assertEquals(await statusesFrom(app, HOST, ["/", "/"], as("wrong")), [401, 401]);
  assertEquals(await statusesFrom(app, HOST, ["/", "/"], as("ada")), [200, 429]);
  const guarded = new App({ deps: { user }, rateLimit: once });
  guarded.get("/", async () => "fine");
  assertEquals(await statusesFrom(guarded, HOST, ["/", "/"], as("wrong")), [401, 429]);
});

Deno.test("by: user (a dependency) with key counts after the guards", async () => {
  const app = new App();
  app.get(
    "/",
    { rateLimit: { ...once, by: user, key: (user) => user.id }, deps: { user } },
    async (_, { user }) => user,
  );
  assertEquals(await statusesFrom(app, HOST, ["/", "/"], as("wrong")), [401, 401]);
  assertEquals(await statusesFrom(app, HOST, ["/", "/"], as("ada")), [200, 429]);
  assertEquals(await statusesFrom(app, OTHER, ["/"], as("ada")), [429]);
  assertEquals(await statusesFrom(app, HOST, ["/"], as("bob")), [200]);
});

Deno.test("by: a dependency that the scope does not have is a guard of the scope, and is made once", async () => {
  let made = 0;
  const tenant = dependency({ headers: { "x-tenant": v.string() } }, async (_request, { headers }) => {
    made++;
    return { name: headers["x-tenant"] };
  });
  const router = new Router({ rateLimit: { ...once, by: tenant, key: ({ name }) => name === "free" ? null : name } });
  router.post("/", { body: v.object({ a: v.number() }), deps: { tenant } }, async (_, { tenant }) => tenant);
  const app = new App();
  app.include(router);
  const post = (tenant?: string, body = "{}") => {
    const headers = { "content-type": "application/json", ...(tenant && { "x-tenant": tenant }) };
    return askFrom(app, HOST, "/", { method: "POST", headers, body });
  };
  assertEquals((await post()).status, 422);
  const invalid = await post("a");
  assertEquals([invalid.status, JSON.parse(invalid.body).errors[0].in], [422, "body"]);
  assertEquals((await post("a")).status, 429);
  made = 0;
  for (let time = 0; time < 3; time++) assertEquals((await post("free", '{"a":1}')).status, 200);
  assertEquals(made, 3);
});

Deno.test("A plain async function is a dependency, and a number is a key", async () => {
  const app = new App();
  const count = async () => ({ id: 7 });
  app.get("/", { rateLimit: { ...once, by: count, key: ({ id }) => id } }, async () => "fine");
  assertEquals(await statusesFrom(app, HOST, ["/", "/"]), [200, 429]);
});

Deno.test("A request without an address is not counted", async () => {
  const app = new App();
  app.get("/", { rateLimit: once }, async () => "fine");
  for (let time = 0; time < 3; time++) {
    const response = await app.fetch(new Request("http://localhost/"));
    assertEquals([response.status, response.headers.get("ratelimit")], [200, null]);
    await response.body?.cancel();
  }
});

Deno.test("Preflights, 404, 405 and the documentation are not counted", async () => {
  const app = new App({ rateLimit: once, origins: ["https://shop.example"] });
  app.get("/", async () => "fine");
  const preflight = {
    method: "OPTIONS",
    headers: { origin: "https://shop.example", "access-control-request-method": "GET" },
  };
  assertEquals(await statusesFrom(app, HOST, ["/", "/"], preflight), [204, 204]);
  assertEquals(await statusesFrom(app, HOST, ["/missing", "/docs", "/openapi.json", "/docs"]), [404, 200, 200, 200]);
  assertEquals(await statusesFrom(app, HOST, ["/"], { method: "PUT" }), [405]);
  assertEquals(await statusesFrom(app, HOST, ["/", "/"]), [200, 429]);
});

Deno.test("The calls of tools count like requests, and a refusal says when to try again", async () => {
  const app = new App();
  // A guard is asked before the call, too, which does not count.
  const everyone = dependency({ security: { none: { type: "http", scheme: "basic" } } }, async () => true);
  app.get("/", {
    tool: true,
    deps: { everyone },
    rateLimit: { limit: 1, per: "1h", by: (request) => request.headers.get("x-tenant") ?? "none" },
  }, async function look() {
    return "fine";
  });
  const agent = new Agent(app);
  assertEquals(await agent.result("look", {}), { result: "fine" });
  const refused = await agent.call("look", {});
  assert(refused.isError);
  assertMatch(JSON.stringify(refused.content), / 3[56]\d\d s/);
  // Wrong arguments are refused only after the limit.
  assertMatch(JSON.stringify((await agent.call("look", { unknown: 1 })).content), / 3[56]\d\d s/);
});

Deno.test("WebSocket handshakes count", async () => {
  const app = new App();
  app.websocket("/", { rateLimit: once }, async (socket) => socket.send("hello"));
  await using server = await Serving.start(app);
  const handshake = {
    connection: "upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const socket = new WebSocket(server.origin.replace("http", "ws"));
  assertEquals(await new Promise((resolve) => socket.onmessage = ({ data }) => resolve(data)), "hello");
  const connection = await Deno.connect({ port: server.port });
  const head = Object.entries(handshake).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  await connection.write(new TextEncoder().encode(`GET / HTTP/1.1\r\nhost: localhost:${server.port}\r\n${head}\r\n`));
  const bytes = new Uint8Array(1024);
  const text = new TextDecoder().decode(bytes.subarray(0, await connection.read(bytes) ?? 0));
  assertStringIncludes(text, "HTTP/1.1 429");
  assertMatch(text, /^retry-after: 3[56]\d\d\r$/m);
  connection.close();
});

Deno.test("429 is documented on exactly the routes with a limit", () => {
  const limited = new Router({ prefix: "/limited", rateLimit: once });
  limited.get("", async () => "fine");
  const app = new App();
  app.include(limited);
  app.get("/own", { rateLimit: { ...once, by: user, key: ({ id }) => id } }, async () => "fine");
  app.get("/free", async () => "fine");
  const { paths, components } = app.openapi();
  for (const path of ["/limited", "/own"]) {
    assertEquals(paths[path]!.get!.responses["429"], { $ref: "#/components/responses/TooManyRequests" }, path);
  }
  const reply = components.responses!.TooManyRequests!;
  assertEquals(Object.keys(reply.headers!).sort(), ["RateLimit", "RateLimit-Policy", "Retry-After"]);
  assertFalse("429" in paths["/free"]!.get!.responses);
  // The dependency in `by` is documented like any other guard.
  assertEquals(paths["/own"]!.get!.security, [{ bearer: [] }]);
  assert("401" in paths["/own"]!.get!.responses);
});

Deno.test("The first request with X-Forwarded-For is told once, where nothing is trusted", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.get("/", { rateLimit: { limit: 9, per: "1h" } }, async () => "fine");
  const init = { headers: { "x-forwarded-for": "198.51.100.1" } };
  await statusesFrom(app, HOST, ["/", "/"], init);
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "trustProxy");
});

Deno.test("A key that is no text is an error of the program", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.get("/", { rateLimit: { ...once, by: (() => undefined) as Untyped } }, async () => "fine");
  assertEquals(await statusesFrom(app, HOST, ["/"]), [500]);
  assertStringIncludes(
    log.text,
    "Cannot count the request: the caller must be a string, a number or null, got undefined",
  );
});

Deno.test("An error in key or by is the reply, and does not let the request through", async () => {
  const app = new App();
  app.get("/", {
    rateLimit: {
      ...once,
      by: () => {
        throw new HTTPError(400, "No tenant");
      },
    },
  }, async () => "fine");
  assertEquals(await statusesFrom(app, HOST, ["/"]), [400]);
});

Deno.test("A mistake in a declaration names the route and the cure", () => {
  const refused = (rateLimit: Untyped, error: ErrorConstructor, message: string) =>
    assertThrows(
      () => new App().get("/x", { rateLimit }, async () => "x"),
      error,
      `Cannot register GET /x: ${message}`,
    );
  refused(5, TypeError, '"rateLimit" must be an object, got 5; write { limit: 100, per: "1m" }');
  refused([], TypeError, '"rateLimit" is an empty array, leave it out');
  refused([null], TypeError, '"rateLimit[0]" must be an object');
  refused({ limit: 0, per: "1m" }, RangeError, '"rateLimit.limit" must be an integer from 1 on, got 0');
  refused({ limit: 1.5, per: "1m" }, RangeError, '"rateLimit.limit" must be an integer');
  refused({ limit: 1, per: "1m", max: 1 }, TypeError, 'the option "rateLimit.max" is unknown');
  refused([once, { ...once, by: user }], TypeError, '"rateLimit[1].by" is a dependency, add key');
  refused({ ...once, key: () => "a" }, TypeError, '"rateLimit.key" is for the value of a dependency, add by');
  refused({ ...once, by: () => "a", key: () => "a" }, TypeError, '"rateLimit.key" is for the value of a dependency');
  refused({ ...once, by: "ip" }, TypeError, '"rateLimit.by" must be a function or a dependency, got "ip"');
  refused(
    { ...once, by: user, key: async () => "a" },
    TypeError,
    '"rateLimit.key" must be a function that is not async',
  );
  refused({ ...once, store: {} }, TypeError, '"rateLimit.store" must be a function');
  assertThrows(() => new Router({ rateLimit: { limit: 1, per: "never" as Untyped } }), RangeError, "rateLimit.per");
  const message = "Cannot make the App: ";
  assertThrows(() => new App({ rateLimit: { limit: -1, per: "1m" } }), RangeError, message);
});
