// Section 3 of the contract of shipping: spans of OpenTelemetry for requests.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { CLIENT, ERROR, INTERNAL, OtlpCollector, SERVER } from "../support/otlp_collector.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const LISTEN = `await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });`;

const HEAD = `import { App, dependency, HTTPError, Router, SSE } from "${CORE}";
const app = new App();
const origin = (request) => new URL(request.raw.url).origin;
`;

/** Runs a program under Deno's OpenTelemetry. */
function test(title: string, program: string, body: (base: string, collector: OtlpCollector) => Promise<void>): void {
  Deno.test(title, async () => {
    await using collector = new OtlpCollector();
    await using child = await ChildProgram.start(`${HEAD}${program}\n${LISTEN}`, { env: collector.env });
    await body(`http://127.0.0.1:${await child.port()}`, collector);
  });
}

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async function get(url: string, init?: RequestInit): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

const SHOP = `
const shop = new Router({ prefix: "/shops/{slug}" });
const database = dependency(async function* () { yield "open"; });
shop.get("/books/{isbn}", { deps: { connection: database } }, async (request, { isbn }) => {
  await fetch(origin(request) + "/ping");
  return isbn;
});
app.include(shop);
app.get("/ping", async () => "pong");
app.websocket("/rooms/{room}", async (socket) => { socket.send("hello"); });
app.mount("/old", () => new Response("old"));
`;

test(
  "spans are named `GET /shops/{slug}/books/{isbn}`, carry `http.route`, and so do Deno's metrics",
  SHOP,
  async (base, collector) => {
    assertEquals(await get(`${base}/shops/corner/books/7`, { headers: { traceparent: PARENT } }), 200);
    const request = await collector.named("GET /shops/{slug}/books/{isbn}");
    assertEquals(request.kind, SERVER);
    assertEquals(request.attributes["http.route"], "/shops/{slug}/books/{isbn}");
    // The trace of the caller goes on.
    assertEquals([request.traceId, request.parentSpanId], ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]);
    // And so it does in what the handler asks others.
    const asked = await collector.span(({ kind, parentSpanId }) => kind === CLIENT && parentSpanId === request.spanId);
    const ping = await collector.named("GET /ping");
    assertEquals([ping.traceId, ping.parentSpanId], [request.traceId, asked.spanId]);
    for (const name of ["http.server.request.duration", "http.server.response.body.size"]) {
      await collector.point((point) => point.name === name && point.attributes["http.route"] === "/ping");
    }
  },
);

test("spans of their own for dependencies, named by their functions or arguments", SHOP, async (base, collector) => {
  await get(`${base}/shops/corner/books/7`);
  const request = await collector.named("GET /shops/{slug}/books/{isbn}");
  const made = await collector.named("dependency connection");
  assertEquals([made.kind, made.traceId, made.parentSpanId], [INTERNAL, request.traceId, request.spanId]);
});

test(
  "WebSockets, mounts, HEAD and the application's own endpoints have names and routes; unknown paths have none",
  SHOP,
  async (base, collector) => {
    const socket = new WebSocket(`${base.replace("http", "ws")}/rooms/green`);
    await new Promise((resolve) => socket.onclose = resolve);
    assertEquals(await get(`${base}/old/a/b`, { method: "PUT" }), 200);
    assertEquals(await get(`${base}/ping`, { method: "HEAD" }), 200);
    assertEquals(await get(`${base}/openapi.json`), 200);
    assertEquals(await get(`${base}/shops/${crypto.randomUUID()}`), 404);
    assertEquals(await get(`${base}/ping`, { method: "DELETE" }), 405);
    const handshake = await collector.named("GET /rooms/{room}");
    assertEquals([handshake.kind, handshake.attributes["http.route"]], [SERVER, "/rooms/{room}"]);
    // The request ends with the handshake, so the handler has a span of its own.
    const served = await collector.named("WEBSOCKET /rooms/{room}");
    assertEquals([served.kind, served.parentSpanId], [INTERNAL, handshake.spanId]);
    assertEquals((await collector.named("PUT /old")).attributes["http.route"], "/old");
    assertEquals((await collector.named("HEAD /ping")).attributes["http.route"], "/ping");
    assertEquals((await collector.named("GET /openapi.json")).attributes["http.route"], "/openapi.json");
    for (const [method, status] of [["GET", "404"], ["DELETE", "405"]] as const) {
      const unknown = await collector.span(({ kind, attributes }) =>
        kind === SERVER && attributes["http.response.status_code"] === status
      );
      assertEquals([unknown.name, unknown.attributes["http.route"]], [method, undefined]);
    }
  },
);

test(
  "a 5xx records the hidden cause, and a refusal of a client is no failure",
  `
app.get("/broken", async () => { throw new Error("the table is missing", { cause: new TypeError("no such column") }); });
app.get("/away", async () => { throw new HTTPError(503, "Come back later", { cause: new Error("the pool is empty") }); });
async function user() { throw new HTTPError(401, "Sign in"); }
app.get("/mine", { deps: { user } }, async () => "mine");
async function rate() { throw new Error("no rate today"); }
app.get("/price", { deps: { rate } }, async () => "mine");
class Gone extends Error {}
app.get("/gone", async () => { throw new Gone("no row"); });
app.onError(({ cause }) => cause instanceof Gone ? Response.json({}, { status: 410 }) : undefined);
`,
  async (base, collector) => {
    const response = await fetch(`${base}/broken`);
    assertEquals(response.status, 500);
    assert(!(await response.text()).includes("table"));
    const broken = await collector.named("GET /broken");
    assertEquals([broken.status, broken.events.map(({ name }) => name)], [ERROR, ["exception"]]);
    const { attributes } = broken.events[0]!;
    assertEquals([attributes["exception.type"], attributes["exception.message"]], ["Error", "the table is missing"]);
    assertMatch(String(attributes["exception.stacktrace"]), /no such column/);

    assertEquals(await get(`${base}/away`), 503);
    const away = await collector.named("GET /away");
    assertEquals([away.status, away.events[0]?.attributes["exception.message"]], [ERROR, "the pool is empty"]);

    assertEquals(await get(`${base}/mine`), 401);
    const mine = await collector.named("GET /mine");
    const user = await collector.named("dependency user");
    assertEquals([mine.status, mine.events, user.status, user.events], [0, [], 0, []]);

    assertEquals(await get(`${base}/gone`), 410);
    const gone = await collector.named("GET /gone");
    assertEquals([gone.status, gone.events], [0, []]);

    assertEquals(await get(`${base}/price`), 500);
    for (const name of ["GET /price", "dependency rate"]) {
      const { status, events } = await collector.named(name);
      assertEquals([status, events[0]?.attributes["exception.message"]], [ERROR, "no rate today"]);
    }
  },
);

test(
  "spans of their own for tool calls, which leave the name of the agent's request alone",
  `
app.get("/books/{id}", { tool: { name: "book" }, summary: "A book" }, async (_request, { id }) => {
  if (id === "0") throw new Error("no zero");
  return { id };
});
`,
  async (base, collector) => {
    const call = (id: string) =>
      get(`${base}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({
          ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
          params: { name: "book", arguments: { id } },
        }),
      });
    assertEquals(await call("7"), 200);
    const tool = await collector.named("tools/call book");
    const request = await collector.named("POST /mcp");
    assertEquals([tool.kind, tool.parentSpanId, tool.status], [SERVER, request.spanId, 0]);
    assertEquals([tool.attributes["gen_ai.tool.name"], tool.attributes["http.route"]], ["book", "/books/{id}"]);
    assertEquals(await call("0"), 200);
    const failed = await collector.span(({ name, status }) => name === "tools/call book" && status === ERROR);
    assertEquals(failed.events[0]?.attributes["exception.message"], "no zero");
    assertEquals(failed.attributes["error.type"], "tool_error");
  },
);

test(
  "what a stream, a background task and a user's own span do belongs to the request",
  `
const { trace } = await import("npm:@opentelemetry/api@^1.10.0");
app.get("/events", async (request) => SSE(async function* () {
  for (let n = 0; n < 2; n++) {
    await fetch(origin(request) + "/in-stream");
    yield n;
  }
}()));
app.get("/lines", async function* (request) {
  yield 1;
  await fetch(origin(request) + "/in-lines");
  yield 2;
});
app.get("/later", async (request) => {
  request.after(async () => { await fetch(origin(request) + "/in-task"); });
  return "soon";
});
app.get("/own", async (request) => await trace.getTracer("mine").startActiveSpan("mine", async (span) => {
  await fetch(origin(request) + "/in-own");
  span.end();
  return trace.getActiveSpan()?.spanContext().spanId;
}));
app.get("/{place}", async () => "here");
`,
  async (base, collector) => {
    for (const path of ["events", "lines", "later", "own"]) await (await fetch(`${base}/${path}`)).text();
    const places = [["events", "in-stream"], ["lines", "in-lines"], ["later", "in-task"], ["own", "in-own"]] as const;
    for (const [path, place] of places) {
      const request = await collector.named(`GET /${path}`);
      const asked = await collector.span(({ kind, attributes }) =>
        kind === CLIENT && String(attributes["url.full"]).endsWith(place)
      );
      assertEquals(asked.traceId, request.traceId, place);
      if (path !== "own") assertEquals(asked.parentSpanId, request.spanId, place);
      else assertEquals(asked.parentSpanId, (await collector.named("mine")).spanId);
    }
  },
);

test(
  "what a start begins belongs to no request, though a request may cause it",
  `
const other = new App();
other.lifespan(async function* () {
  await fetch(base + "/in-start");
  yield {};
});
other.get("/", async () => "late");
let base;
app.get("/first", async (request) => {
  base = origin(request);
  return await other.fetch(new Request("http://other/"));
});
app.get("/{place}", async () => "here");
`,
  async (base, collector) => {
    assertEquals(await get(`${base}/first`), 200);
    const asked = await collector.span(({ kind, attributes }) =>
      kind === CLIENT && String(attributes["url.full"]).endsWith("/in-start")
    );
    const request = await collector.named("GET /first");
    assertEquals(asked.parentSpanId, "");
    assertNotEquals(asked.traceId, request.traceId);
    // The other application has not renamed the span of this request.
    assertEquals(request.attributes["http.route"], "/first");
  },
);

Deno.test("a 5xx records the hidden cause also where the application cannot start", async () => {
  await using collector = new OtlpCollector();
  const program = `${HEAD}
app.lifespan(async function* () { throw new Error("no database"); });
const server = Deno.serve({ port: 0, onListen: ({ port }) => console.log("port " + port) }, app.fetch);
await server.finished;`;
  await using child = await ChildProgram.start(program, { env: collector.env });
  assertEquals(await get(`http://127.0.0.1:${await child.port()}/`), 500);
  const { status, events } = await collector.span(({ kind }) => kind === SERVER);
  assertEquals([status, events[0]?.attributes["exception.message"]], [ERROR, "no database"]);
});

Deno.test("log entries of a request carry `trace_id`, with OpenTelemetry", async () => {
  await using collector = new OtlpCollector();
  const program = `${HEAD}
app.get("/broken", async () => { throw new Error("the table is missing"); });
${LISTEN}`;
  await using child = await ChildProgram.start(program, { env: { ...collector.env, WEBFW_LOG: "json" } });
  assertEquals(await get(`http://127.0.0.1:${await child.port()}/broken`), 500);
  const { traceId, spanId } = await collector.named("GET /broken");
  child.signal("SIGTERM");
  const { stderr } = await child.end();
  const entry = stderr.split("\n").find((line) => line.includes("A request failed"))!;
  const { trace_id, span_id } = JSON.parse(entry);
  assertEquals([trace_id, span_id], [traceId, spanId]);
});

Deno.test("the readiness of an application and its folders have names, whatever paths clients try", async () => {
  await using collector = new OtlpCollector();
  const program = `import { App } from "${CORE}";
const app = new App({ readyUrl: "/ready" });
app.files("/", Deno.env.get("FOLDER"));
${LISTEN}`;
  await using folder = await TemporaryFolder.make();
  await folder.write("a.txt", "a");
  await using child = await ChildProgram.start(program, { env: { ...collector.env, FOLDER: folder.path } });
  const base = `http://127.0.0.1:${await child.port()}`;
  assertEquals([await get(`${base}/ready`), await get(`${base}/a.txt`), await get(`${base}/b.txt`)], [200, 200, 404]);
  assertEquals((await collector.named("GET /ready")).attributes["http.route"], "/ready");
  for (const status of ["200", "404"]) {
    const file = await collector.span(({ name, attributes }) =>
      name === "GET /{path...}" && attributes["http.response.status_code"] === status
    );
    assertEquals(file.attributes["http.route"], "/{path...}");
  }
});
