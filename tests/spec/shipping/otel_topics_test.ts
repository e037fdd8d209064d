// Section 3 of the contract of shipping: a message carries its publisher's trace, and gauges.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { ChildProgram, CORE } from "../support/child_program.ts";
import {
  CLIENT,
  CONSUMER,
  ERROR,
  type ExportedSpan,
  INTERNAL,
  OtlpCollector,
  PRODUCER,
} from "../support/otlp_collector.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const HEAD = `import { App, SSE } from "${CORE}";
const app = new App({ topics: Deno.env.get("TOPICS") });
const orders = app.topic("orders", { durable: Deno.env.has("TOPICS") });
const origin = (request) => new URL(request.raw.url).origin;
`;
const LISTEN = `
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });`;

const PUBLISHER = `
app.post("/orders", async () => (await orders.publish({ total: 5 })).id);
`;

function start(program: string, collector: OtlpCollector, env: Record<string, string> = {}): Promise<ChildProgram> {
  return ChildProgram.start(HEAD + program + LISTEN, { env: { ...collector.env, ...env } });
}

async function baseOf(child: ChildProgram): Promise<string> {
  return `http://127.0.0.1:${await child.port()}`;
}

function linksTo(span: ExportedSpan, other: ExportedSpan): boolean {
  return span.links.some(({ traceId, spanId }) => traceId === other.traceId && spanId === other.spanId);
}

Deno.test("a consumer or subscriber on another node links to the publisher of a message", async () => {
  await using folder = await TemporaryFolder.make();
  const TOPICS = folder.within("topics.sqlite");
  await using collector = new OtlpCollector();
  await using reading = await start(
    `
let base;
app.get("/handled", async () => "yes");
orders.consume("mail", async () => { await fetch(base + "/handled"); });
app.get("/begin", async (request) => { base = origin(request); });
app.get("/events", async () => SSE(orders.subscribe()));
`,
    collector,
    { TOPICS },
  );
  const readingBase = await baseOf(reading);
  await fetch(`${readingBase}/begin`);
  const events = await fetch(`${readingBase}/events`);
  const reader = events.body!.getReader();
  await reader.read();

  await using publishing = await start(PUBLISHER, collector, { TOPICS });
  const response = await fetch(`${await baseOf(publishing)}/orders`, { method: "POST" });
  const id = await response.json();

  const request = await collector.named("POST /orders");
  const published = await collector.named("publish orders");
  assertEquals([published.kind, published.traceId, published.parentSpanId], [
    PRODUCER,
    request.traceId,
    request.spanId,
  ]);
  assertEquals(published.attributes, {
    "messaging.system": "webfw",
    "messaging.destination.name": "orders",
    "messaging.operation.name": "publish",
    "messaging.operation.type": "send",
    "messaging.message.body.size": 11,
    "messaging.message.id": id,
  });

  const handled = await collector.named("process orders");
  assertEquals([handled.kind, handled.parentSpanId], [CONSUMER, ""]);
  assertNotEquals(handled.traceId, published.traceId);
  assert(linksTo(handled, published));
  assertEquals(handled.attributes, {
    "messaging.system": "webfw",
    "messaging.destination.name": "orders",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.consumer.group.name": "mail",
    "messaging.message.id": id,
    "webfw.consumer.attempt": 1,
  });
  // What the handler asks belongs to its trace.
  const asked = await collector.span(({ kind, attributes }) =>
    kind === CLIENT && String(attributes["url.full"]).endsWith("/handled")
  );
  assertEquals([asked.traceId, asked.parentSpanId], [handled.traceId, handled.spanId]);

  const received = await collector.named("receive orders");
  assertEquals([received.kind, received.parentSpanId], [CONSUMER, ""]);
  assert(linksTo(received, published));
  await reader.cancel();
});

Deno.test("a consumer that fails says why, and each try is a trace of its own", async () => {
  await using collector = new OtlpCollector();
  await using child = await start(
    `${PUBLISHER}
orders.consume("mail", { retry: { attempts: 2, backoff: 1 } }, async (_message, { attempt }) => {
  if (attempt === 1) throw new Error("no mail today");
});
`,
    collector,
  );
  await (await fetch(`${await baseOf(child)}/orders`, { method: "POST" })).body?.cancel();
  const published = await collector.named("publish orders");
  const isTry = (attempt: number) => ({ name, attributes }: ExportedSpan) =>
    name === "process orders" && attributes["webfw.consumer.attempt"] === attempt;
  const failed = await collector.span(isTry(1));
  assertEquals([failed.status, failed.events[0]?.attributes["exception.message"]], [ERROR, "no mail today"]);
  const again = await collector.span(isTry(2));
  assertEquals([again.status, again.parentSpanId], [0, ""]);
  assert(linksTo(failed, published) && linksTo(again, published));
});

Deno.test("a message that is given up at once says why, also if the handler returns the reason", async () => {
  await using collector = new OtlpCollector();
  await using child = await start(
    `import { Discard } from "${CORE}";
${PUBLISHER}
orders.consume("mail", async () => new Discard("no such customer"));
`,
    collector,
  );
  await (await fetch(`${await baseOf(child)}/orders`, { method: "POST" })).body?.cancel();
  const { status, events } = await collector.named("process orders");
  assertEquals([status, events[0]?.attributes["exception.message"]], [ERROR, "no such customer"]);
});

Deno.test("a dead letter leads to the publisher of its message", async () => {
  await using collector = new OtlpCollector();
  await using child = await start(
    `${PUBLISHER}
app.topic("failed").consume("report", async () => {});
orders.consume("mail", { retry: { attempts: 1 }, deadLetter: "failed" }, async () => { throw new Error("no mail"); });
`,
    collector,
  );
  await (await fetch(`${await baseOf(child)}/orders`, { method: "POST" })).body?.cancel();
  const published = await collector.named("publish orders");
  const settled = await collector.named("settle orders");
  assert(linksTo(settled, published));
  const letter = await collector.named("publish failed");
  assertEquals([letter.traceId, letter.parentSpanId], [settled.traceId, settled.spanId]);
  assert(linksTo(await collector.named("process failed"), letter));
});

Deno.test("what a store asks for a message belongs to its publisher, not to one before", async () => {
  await using collector = new OtlpCollector();
  const STORE = new URL("../support/small_store.ts", import.meta.url);
  const program = `import { App } from "${CORE}";
import { SmallStore } from "${STORE}";
let base;
const { promise: isQueued, resolve: queue } = Promise.withResolvers();
class AskingStore extends SmallStore {
  async append(log, messages, options) {
    await (await fetch(base + "/asked/" + messages[0].data)).text();
    await isQueued;
    return await super.append(log, messages, options);
  }
}
const app = new App({ topics: new AskingStore() });
const orders = app.topic("orders", { durable: true });
app.get("/asked/{n}", async (_request, { n }) => { if (n === "1") console.log("asked"); });
app.post("/first", async (request) => {
  base = new URL(request.raw.url).origin;
  await orders.publish(1);
});
app.post("/second", async () => {
  const published = orders.publish(2);
  queue();
  await published;
});
${LISTEN}`;
  await using child = await ChildProgram.start(program, { env: collector.env });
  const base = await baseOf(child);
  const first = fetch(`${base}/first`, { method: "POST" });
  await child.printed("asked");
  const replies = await Promise.all([first, fetch(`${base}/second`, { method: "POST" })]);
  await Promise.all(replies.map((reply) => reply.body?.cancel()));
  for (const [n, path] of [[1, "/first"], [2, "/second"]] as const) {
    const asked = await collector.span(({ kind, attributes }) =>
      kind === CLIENT && String(attributes["url.full"]).endsWith(`/asked/${n}`)
    );
    assertEquals(asked.traceId, (await collector.named(`POST ${path}`)).traceId, path);
  }
});

Deno.test("a run of a cron is a trace of its own, and says why it failed", async () => {
  await using collector = new OtlpCollector();
  const program = `
// A minute takes 200 ms.
const { now } = Date;
const { setTimeout } = globalThis;
const start = now();
Date.now = () => start + (now() - start) * 300;
globalThis.setTimeout = (action, ms, ...args) => setTimeout(action, ms / 300, ...args);
const { App } = await import("${CORE}");
const app = new App();
app.cron("report", "* * * * *", async () => { throw new Error("no paper"); });
${LISTEN}`;
  await using child = await ChildProgram.start(program, { env: { ...collector.env } });
  await child.port();
  const run = await collector.named("cron report");
  assertEquals([run.kind, run.parentSpanId, run.status], [INTERNAL, "", ERROR]);
  assertEquals([run.attributes["webfw.cron.name"], run.events[0]?.attributes["exception.message"]], [
    "report",
    "no paper",
  ]);
});

Deno.test("a topic whose name may come from a client is in no span's name", async () => {
  await using collector = new OtlpCollector();
  await using child = await start(
    `app.post("/rooms/{room}", async (request, { room }) => (await request.app.topic(room).publish(1)).id);`,
    collector,
  );
  await (await fetch(`${await baseOf(child)}/rooms/of-a-client`, { method: "POST" })).body?.cancel();
  const published = await collector.span(({ kind }) => kind === PRODUCER);
  assertEquals([published.name, published.attributes["messaging.destination.name"]], ["publish", "of-a-client"]);
});

Deno.test("a message has no trace of a client: only of its publisher's own span", async () => {
  await using collector = new OtlpCollector();
  await using child = await start(
    `app.post("/orders", async (request) => (await orders.publish(await request.json())).id);
orders.consume("mail", async () => {});
`,
    collector,
  );
  const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await (await fetch(`${await baseOf(child)}/orders`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ trace, traceparent: trace }),
  })).body?.cancel();
  const handled = await collector.named("process orders");
  const published = await collector.named("publish orders");
  assertEquals(handled.links.map(({ traceId, spanId }) => [traceId, spanId]), [[published.traceId, published.spanId]]);
});

Deno.test("gauges: `webfw.subscribers`, `webfw.consumer.lag`, `webfw.streams`, `webfw.websockets`", async () => {
  await using collector = new OtlpCollector();
  await using child = await start(
    `${PUBLISHER}
app.get("/events", async () => SSE(orders.subscribe()));
app.get("/rooms/{room}/events", async (request, { room }) => SSE(request.app.topic(room).subscribe()));
app.websocket("/socket", async (socket) => { for await (const _ of socket); });
orders.consume("mail", async () => { await new Promise(() => {}); });
`,
    collector,
  );
  const base = await baseOf(child);
  const ORDERS = { "messaging.destination.name": "orders" };
  const seen = (name: string, value: number, names: Record<string, string> = {}) =>
    collector.point((point) =>
      point.name === name && point.value === value && JSON.stringify(point.attributes) === JSON.stringify(names)
    );
  await Promise.all([seen("webfw.streams", 0), seen("webfw.websockets", 0), seen("webfw.subscribers", 0, ORDERS)]);
  const streams = await Promise.all(["events", "events", "rooms/x/events"].map((path) => fetch(`${base}/${path}`)));
  const socket = new WebSocket(`${base.replace("http", "ws")}/socket`);
  await new Promise((resolve) => socket.onopen = resolve);
  await seen("webfw.streams", 3);
  await seen("webfw.subscribers", 2, ORDERS);
  // A name that may come from a client is not shown.
  await seen("webfw.subscribers", 1);
  await seen("webfw.websockets", 1);
  collector.points.length = 0;
  socket.close();
  await Promise.all(streams.map(({ body }) => body!.cancel()));
  await Promise.all([seen("webfw.streams", 0), seen("webfw.websockets", 0), seen("webfw.subscribers", 0, ORDERS)]);
  await (await fetch(`${base}/orders`, { method: "POST" })).body?.cancel();
  await collector.point(({ name, value, attributes }) =>
    name === "webfw.consumer.lag" && value! > 0 && attributes["messaging.consumer.group.name"] === "mail" &&
    attributes["messaging.destination.name"] === "orders"
  );
});

Deno.test("what `filter` and `map` of a stream ask belongs to the request of their reader", async () => {
  await using collector = new OtlpCollector();
  await using child = await start(
    `${PUBLISHER}
app.get("/events/{reader}", async (request, { reader }) => SSE(orders.subscribe(), {
  map: async () => {
    await fetch(origin(request) + "/asked/" + reader);
    return reader;
  },
}));
app.get("/asked/{reader}", async () => "yes");
`,
    collector,
  );
  const base = await baseOf(child);
  const readers = await Promise.all(["one", "two"].map(async (name) => {
    const reader = (await fetch(`${base}/events/${name}`)).body!.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    return { name, reader };
  }));
  await (await fetch(`${base}/orders`, { method: "POST" })).body?.cancel();
  for (const { reader } of readers) while (!(await reader.read()).value?.includes("data:"));
  await Promise.all(readers.map(({ reader }) => reader.cancel()));
  for (const { name } of readers) {
    const events = await collector.span(({ attributes }) =>
      attributes["http.route"] === "/events/{reader}" && String(attributes["url.full"]).endsWith(name)
    );
    const asked = await collector.span(({ kind, attributes }) =>
      kind === CLIENT && String(attributes["url.full"]).endsWith(`/asked/${name}`)
    );
    assertEquals([asked.traceId, asked.parentSpanId], [events.traceId, events.spanId], name);
  }
});

Deno.test("the gauges of workers do not hide one another", async () => {
  await using collector = new OtlpCollector();
  const program = `import { App, SSE } from "${CORE}";
const app = new App();
const orders = app.topic("orders");
app.get("/events", async () => SSE(orders.subscribe()));
const run = (onListen) => app.run({ port: 0, onListen });
if ("WorkerGlobalScope" in globalThis) await run(({ port }) => postMessage(port));
else {
  const worker = new Worker(import.meta.url, { type: "module", name: "webfw-2" });
  const other = await new Promise((resolve) => worker.onmessage = ({ data }) => resolve(data));
  app.get("/other", async () => other);
  await run(({ port }) => console.log("port " + port));
}`;
  await using child = await ChildProgram.start(program, { env: collector.env });
  const base = await baseOf(child);
  const other = await (await fetch(`${base}/other`)).json();
  const bodies = await Promise.all([`${base}/events`, `http://127.0.0.1:${other}/events`].map(async (url) => {
    return (await fetch(url)).body!;
  }));
  for (const worker of [undefined, "webfw-2"]) {
    await collector.point(({ name, value, attributes }) =>
      name === "webfw.subscribers" && value === 1 && attributes["webfw.worker"] === worker
    );
  }
  await Promise.all(bodies.map((body) => body.cancel()));
});
