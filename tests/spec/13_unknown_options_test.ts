// Section 13 of the contract: an unknown option is "a TypeError that names the nearest one,
// everywhere an options object is taken".

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { anySecurity, App, dependency, file, html, HTTPError, Router, SSE, text } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";

/** A declaration with a mistake that TypeScript finds. JavaScript, or a cast, can still make it. */
// deno-lint-ignore no-explicit-any
type Untyped = any;

const handler = async () => {};

async function* events() {}

/** Every place that takes options: a known option, the same misspelt, and a call with options. */
const PLACES: readonly (readonly [
  place: string,
  known: string,
  wrong: string,
  call: (options: Untyped) => unknown,
])[] = [
  ["make the App", "title", "titel", (options) => new App(options)],
  ["set the limits of the App", "body", "boddy", (limits) => new App({ limits })],
  ["set mcp", "origins", "origin", (mcp) => new App({ mcp })],
  ["set cors", "maxAge", "maxage", (cors) => new App({ cors })],
  ["set trustProxy", "header", "headers", (trust) => new App({ trustProxy: { hops: 1, ...trust } })],
  ["set mcp", "hosts", "host", (mcp) => new App({ mcp, mcpUrl: null })],
  ["keep topics", "token", "tokken", (options) => new App({ topics: { url: "https://kv.example", ...options } })],
  ["make a router", "prefix", "prefx", (options) => new Router(options)],
  ["include the router", "prefix", "prefx", (options) => new App().include(new Router(), options)],
  ["run the App", "hostname", "host", (options) => new App().run({ signal: AbortSignal.abort(), port: 0, ...options })],
  ["register GET /a", "query", "qeury", (options) => new App().get("/a", options, handler)],
  ['register a route at "/a"', "query", "qeury", (options) => {
    new App().route("/a", { methods: ["PURGE"], ...options }, handler);
  }],
  ["register GET /v1/a", "response", "respons", (options) => new Router({ prefix: "/v1" }).get("/a", options, handler)],
  ["set the limits of GET /a", "readTimeout", "timeout", (limits) => new App().get("/a", { limits }, handler)],
  ["register GET /a", "tool.name", "tool.nam", (tool) => new App().get("/a", { tool }, handler)],
  ["register GET /a", "tool.annotations.title", "tool.annotations.titel", (annotations) => {
    new App().get("/a", { tool: { annotations } }, handler);
  }],
  ["register WEBSOCKET /a", "receive", "recieve", (options) => new App().websocket("/a", options, handler)],
  ["set the limits of WEBSOCKET /a", "message", "mesage", (limits) => {
    new App().websocket("/a", { limits }, handler);
  }],
  ["declare handler", "deps", "dep", (options) => dependency(options, handler)],
  ['make the topic "a"', "durable", "duarble", (options) => new App().topic("a", options)],
  ['set the retention of the topic "a"', "count", "cuont", (retention) => new App().topic("a", { retention })],
  ['publish to the topic "a"', "id", "Id", (options) => new App().topic("a").publish(1, options)],
  ['subscribe to the topic "a"', "after", "afetr", (options) => new App().topic("a").subscribe(options).return()],
  ["report the topics", "after", "aftre", async (options) => {
    const app = new App({ topics: ":memory:" });
    await using client = new TestClient(app);
    await client.get("/");
    await app.reportTopics(options);
  }],
  ["set the error handler", "contentType", "content", (options) => {
    new App().onError(async () => {}, { schema: { kind: "schema" }, ...options });
  }],
  ["send events", "heartbeat", "heartbeats", (options) => SSE(events(), options)],
  ["send the file", "filename", "fileName", (options) => file("/", options)],
  ["make an HTTPError", "headers", "header", (options) => new HTTPError(401, "No token", options)],
  ["make the reply", "headers", "header", (options) => html("", options)],
  ["make the reply", "status", "statuss", (options) => text("", options)],
  ["send GET /a", "query", "qeury", (init) => new TestClient(new App()).get("/a", init)],
  ["send POST /a", "json", "jsn", (init) => new TestClient(new App()).post("/a", init)],
];

/** The error that a call throws, or rejects with. */
async function faultOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

Deno.test("An unknown option is a TypeError that names the action, the option and the nearest one", async (test) => {
  for (const [place, known, wrong, call] of PLACES) {
    await test.step(`${place}: ${wrong}`, async () => {
      const error = await faultOf(() => call({ [lastOf(wrong)]: undefined }));
      assert(error instanceof TypeError, String(error));
      const start = `Cannot ${place}: the option "${wrong}" is unknown, the nearest is "${known}"; there are `;
      assertEquals(error.message.slice(0, start.length), start);
      assertMatch(error.message.slice(start.length), new RegExp(`(?:^|, )${lastOf(known)}(?:,|$)`));
    });
  }
});

Deno.test("A known option that is undefined is as good as absent", async (test) => {
  for (const [place, known, , call] of PLACES) {
    await test.step(`${place}: ${known}`, async () => {
      const fault = await faultOf(() => call({ [lastOf(known)]: undefined }));
      const without = await faultOf(() => call({}));
      assertEquals(String(fault), String(without));
    });
  }
});

Deno.test("Options must be an object", async (test) => {
  for (const [place, , , call] of PLACES) {
    // Calls that spread the options cannot pass a value that is not an object.
    if (/\.\.\./.test(call.toString())) continue;
    for (const value of ["/books", null, ["prefix"], 8000]) {
      await test.step(`${place}: ${JSON.stringify(value)}`, async () => {
        const error = await faultOf(() => call(value));
        assert(error instanceof TypeError, String(error));
        assertMatch(error.message, /must be/);
      });
    }
  }
});

Deno.test("Options may come from a class or a prototype, and unknown ones there are found", async () => {
  class Place {
    get prefix() {
      return "/v1";
    }
    describe() {}
  }
  const app = new App();
  const router = new Router(new Place());
  router.get("/a", Object.create({ status: 202, tool: Object.create({ name: "a" }) }), async () => "");
  router.route("/b", Object.create({ methods: ["PUT", "PATCH"], status: 202, operationId: "put" }), async () => "");
  app.include(router, new Place());
  await using client = new TestClient(app);
  assertEquals((await client.get("/v1/v1/a")).status, 202);
  assertEquals((await client.put("/v1/v1/b")).status, 202);
  assertEquals(app.routes.map(({ options }) => options.status), [202, 202, 202]);
  assertThrows(() => new Router(Object.create({ prefx: "/v1" })), TypeError, '"prefx"');
  assertThrows(() => new Router(JSON.parse('{"__proto__": {}}')), TypeError, '"__proto__"');
  assertThrows(() => new Router({ toString: 1 } as Untyped), TypeError, '"toString"');
});

Deno.test("Limits of a prototype apply", async () => {
  const app = new App({ limits: Object.create({ body: 2 }) });
  app.post("/", async (request) => await request.text());
  await using client = new TestClient(app);
  assertEquals((await client.post("/", { body: "abc" })).status, 413);
});

Deno.test("Symbols, and names that a library adds to all objects, are not options", () => {
  new Router({ prefix: "/a", [Symbol("tag")]: 1 } as Untyped);
  Object.defineProperty(Object.prototype, "isHelpful", { value: true, enumerable: true, configurable: true });
  try {
    new Router({ prefix: "/a" });
    new App().get("/", { status: 201 }, handler);
  } finally {
    Reflect.deleteProperty(Object.prototype, "isHelpful");
  }
});

Deno.test("An application that was run with an unknown option can be declared further", async () => {
  const app = new App();
  await assertRejects(() => app.run({ prot: 0, port: 0, signal: AbortSignal.abort() } as Untyped), TypeError, '"prot"');
  app.get("/a", handler);
});

Deno.test("A reply may be made after another one", async () => {
  const response = html("<p>", new Response(null, { status: 202 }));
  assertEquals(response.status, 202);
  await response.body?.cancel();
});

Deno.test("An unknown member of a security scheme is a TypeError that names the nearest one", () => {
  const flows = { clientCredentials: { tokenUrl: "/token", scopes: {}, refresh: "/again" } };
  const table: [scheme: object, message: string][] = [
    [
      { type: "http", scheme: "bearer", format: "JWT" },
      'has the unknown member "format", the nearest is "bearerFormat"',
    ],
    [{ type: "http", scheme: "bearer", scopes: [] }, 'has the unknown member "scopes", the nearest is "'],
    [{ type: "oauth2", flows: { implict: {} } }, 'has the unknown member "flows.implict", the nearest is "implicit"'],
    [
      { type: "oauth2", flows },
      'has the unknown member "flows.clientCredentials.refresh", the nearest is "refreshUrl"',
    ],
  ];
  for (const [scheme, message] of table) {
    const declare = () => dependency({ security: anySecurity({}, { own: scheme as Untyped }) }, handler);
    assertThrows(declare, TypeError, `Cannot declare handler: the security scheme "own" ${message}`);
  }
});
