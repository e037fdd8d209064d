// Section 7 of the contract: "return SSE(source, { retry, heartbeat = 15 s }), source = a topic
// subscription, or any async iterable of data or { data, id, event, retry }. Pull-driven with a
// bounded buffer. Last-Event-ID (or ?lastEventId=) resumes a subscription by itself. Heartbeat
// comments; X-Accel-Buffering: no, Cache-Control: no-store. The subscription is closed when the
// client goes." Section 13: "garbage in Last-Event-ID: 400 before the stream; an id of another
// epoch is a gap; the header wins over the query, either wins over from"; "SSE data: JSON, strings
// too; SSE(source, { encode: "text" }) sends strings as they are; a message's type is the event
// name".

import { App, Events, SSE, type Subscription } from "@webfw/core";
import type { SSEOptions } from "@webfw/core/types";
import { assert, assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { EventReader } from "./support/event_reader.ts";
import { RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { ticks } from "./support/ticks.ts";
import { until } from "../support/wait.ts";

/** An application that sends events of a source. */
function sending(source: () => unknown, options?: SSEOptions): App {
  const app = new App();
  app.get("/", async () => SSE(source() as AsyncIterable<unknown>, options));
  return app;
}

async function open(app: App, headers: HeadersInit = {}, path = "/"): Promise<EventReader> {
  return new EventReader(await app.fetch(new Request(`http://localhost${path}`, { headers })));
}

async function* each(...items: unknown[]): AsyncGenerator<unknown> {
  yield* items;
}

async function textOf(app: App): Promise<string> {
  return await (await app.fetch(new Request("http://localhost/"))).text();
}

Deno.test("The reply is an event stream that is not cached and that no proxy buffers", async () => {
  const response = await sending(() => each()).fetch(new Request("http://localhost/"));
  const names = ["content-type", "cache-control", "x-accel-buffering"];
  assertEquals(names.map((name) => response.headers.get(name)), ["text/event-stream", "no-store, no-transform", "no"]);
  assertEquals(await response.text(), "");
});

Deno.test("HEAD has the headers of the stream, and its source is closed unread", async () => {
  const calls: string[] = [];
  const source = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        calls.push("next");
        return Promise.resolve({ done: true, value: undefined });
      },
      return: () => {
        calls.push("return");
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  const app = sending(() => source);
  const response = await app.fetch(new Request("http://localhost/", { method: "HEAD" }));
  assertEquals([response.status, response.headers.get("content-type"), response.body], [
    200,
    "text/event-stream",
    null,
  ]);
  await app.stop();
  assertEquals(calls, ["return"]);
});

Deno.test("Data is JSON, strings too", async () => {
  const app = sending(() => each("a", 1, null, { b: [1] }, "two\nlines"));
  assertEquals(await textOf(app), 'data: "a"\n\ndata: 1\n\ndata: null\n\ndata: {"b":[1]}\n\ndata: "two\\nlines"\n\n');
});

Deno.test('With encode: "text" strings are sent as they are, and anything else is JSON', async () => {
  const app = sending(() => each("a", { b: 1 }, "x\ny\r\nz\rend", ""), { encode: "text" });
  await using reader = await open(app);
  assertEquals((await reader.take(4)).map(({ data }) => data), ["a", '{"b":1}', "x\ny\nz\nend", ""]);
});

Deno.test("An item of data, event, id and retry is an event with all of them; any other object is data", async () => {
  const app = sending(() =>
    each({ data: 1, event: "tick", id: "7", retry: "2s" }, { data: 2, more: true }, { event: "e" }, { data: 3 })
  );
  await using reader = await open(app);
  assertEquals(await reader.take(4), [
    { event: "tick", data: "1", id: "7" },
    { event: "message", data: '{"data":2,"more":true}', id: "7" },
    { event: "message", data: '{"event":"e"}', id: "7" },
    { event: "message", data: "3", id: "7" },
  ]);
  assertEquals(reader.retry, 2000);
});

Deno.test("An event without data gives the client its id, and the page nothing", async () => {
  await using reader = await open(sending(() => each({ data: undefined, id: "5" }, 1)));
  assertEquals(await reader.take(1), [{ event: "message", data: "1", id: "5" }]);
});

const BREAKING = ["a\ndata: forged", "a\r\n\r\ndata: forged", "a\rid: 9", "\n"];

/** An id with NUL would be no id for the client. */
for (const [field, breaking] of [["id", [...BREAKING, "a\0b"]], ["event", BREAKING]] as const) {
  Deno.test(`A ${field} with a line break is never sent: the stream ends, and the log says why`, async () => {
    for (const text of breaking) {
      using log = new CapturedLog();
      const sent = await textOf(sending(() => each("before", { data: 1, [field]: text }, "never")));
      assertEquals(sent, 'data: "before"\n\n');
      assertStringIncludes(log.text, "A stream of events broke off");
    }
  });
}

Deno.test("Data arrives as it was, whatever is in it", async () => {
  const texts = [
    "\ufeffbegins with a mark",
    "data: forged\n\nevent: forged",
    "id: 9",
    ": comment",
    " begins with a space",
    "\u2028\u2029\u0085",
    "\0",
    "Grüße 👋",
    "\n\n\n",
  ];
  await using asText = await open(sending(() => each(...texts), { encode: "text" }));
  assertEquals((await asText.take(texts.length)).map(({ data }) => data), texts);
  await using asJson = await open(sending(() => each(...texts)));
  assertEquals((await asJson.take(texts.length)).map(({ data }) => JSON.parse(data)), texts);
});

Deno.test("retry is sent first, once", async () => {
  const app = sending(() => each(1, 2), { retry: 250 });
  assertEquals(await textOf(app), "retry: 250\n\ndata: 1\n\ndata: 2\n\n");
});

Deno.test("A silence is broken by heartbeats, which are comments", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const app = sending(async function* () {
    yield 1;
    await promise;
    yield 2;
  }, { heartbeat: 20 });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("data: 1\n\n");
  for (let count = 0; count < 3; count++) await connection.until(":\n\n");
  resolve();
  await connection.until("data: 2\n\n");
});

Deno.test("A mistake in SSE() is an error where it is made", () => {
  const make = (source: unknown, options?: unknown) => () =>
    SSE(source as AsyncIterable<unknown>, options as SSEOptions);
  assertThrows(
    make(1),
    TypeError,
    "the source must be a subscription, an array of them or an async iterable, got number",
  );
  assertThrows(make([]), TypeError, "at least one");
  assertThrows(make([each()]), TypeError, "an array must have only subscriptions");
  assertThrows(make(each(), { beat: 1 }), TypeError, '"beat" is unknown, the nearest is "heartbeat"');
  assertThrows(make(each(), { encode: "xml" }), TypeError, 'encode must be "json" or "text", got "xml"');
  for (const time of [-1, NaN, "soon"]) assertThrows(make(each(), { heartbeat: time }));
  const topic = new App().topic("a");
  const twice = [topic.subscribe(), topic.subscribe()];
  assertThrows(make(twice), TypeError, 'the topic "a" is in the array twice');
  twice.forEach((subscription) => subscription.close());
});

Deno.test("Events are sent to one client: a result of SSE() cannot be returned twice", async () => {
  const app = new App();
  const stream = SSE(each(1));
  app.get("/", async () => stream);
  assertEquals(await textOf(app), "data: 1\n\n");
  using log = new CapturedLog();
  assertEquals((await app.fetch(new Request("http://localhost/"))).status, 500);
  assertStringIncludes(log.text, "call SSE() for each request");
});

/** An application with a topic, whose messages it sends. */
function news(): { app: App; publish: (data: unknown, type?: string) => Promise<string> } {
  const app = new App();
  const topic = app.topic("news", { retention: { count: 3 } });
  app.get("/", async () => SSE(topic.subscribe(), { retry: 10 }));
  app.get("/all", async () => SSE(topic.subscribe({ from: "earliest" })));
  const publish = async (data: unknown, type?: string) => {
    const { id } = await topic.publish(data, type === undefined ? {} : { type });
    return id;
  };
  return { app, publish };
}

Deno.test("A subscription is sent with the ids of its messages, and their types as event names", async () => {
  const { app, publish } = news();
  await using reader = await open(app);
  const ids = [await publish({ a: 1 }), await publish("b", "drop")];
  assertEquals(await reader.take(2), [
    { event: "message", data: '{"a":1}', id: ids[0]! },
    { event: "drop", data: '"b"', id: ids[1]! },
  ]);
  assertEquals(reader.retry, 10);
});

Deno.test("A client first gets its start position, so it misses nothing if it is cut off before an event", async () => {
  const { app, publish } = news();
  let place: string;
  {
    await using reader = await open(app);
    await reader.block();
    place = reader.lastEventId;
  }
  await publish("missed");
  await using again = await open(app, { "last-event-id": place });
  assertEquals((await again.take(1))[0]?.data, '"missed"');
});

Deno.test("Last-Event-ID and ?lastEventId= resume; the header wins over the query, and either over from", async () => {
  const { app, publish } = news();
  const ids = [await publish(1), await publish(2), await publish(3)];
  const first = async (headers: HeadersInit, path: string) => {
    await using reader = await open(app, headers, path);
    return (await reader.take(1))[0]?.data;
  };
  assertEquals(await first({}, "/all"), "1");
  assertEquals(await first({ "last-event-id": ids[0]! }, "/all"), "2");
  assertEquals(await first({}, `/all?lastEventId=${ids[1]}`), "3");
  assertEquals(await first({ "last-event-id": ids[0]! }, `/all?lastEventId=${ids[1]}`), "2");
  assertEquals(await first({ "last-event-id": ids[0]! }, "/"), "2");
});

Deno.test("Resuming at any message gives exactly the messages after it", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers");
  app.get("/", async () => SSE(topic.subscribe()));
  const ids: string[] = [await topic.head()];
  for (let data = 1; data <= 20; data++) ids.push((await topic.publish(data)).id);
  for (const [index, id] of ids.entries()) {
    await using reader = await open(app, { "last-event-id": id });
    const expected = Array.from({ length: 20 - index }, (_, rest) => String(index + rest + 1));
    assertEquals((await reader.take(expected.length)).map(({ data }) => data), expected);
  }
});

Deno.test("An expired id is reported as webfw.gap first, and a client that resumes after it gets no second gap", async () => {
  const { app, publish } = news();
  const first = await publish(1);
  for (let data = 2; data <= 5; data++) await publish(data);
  let place: string;
  {
    await using reader = await open(app, { "last-event-id": first });
    const [gap] = await reader.take(1);
    assertEquals(gap!.event, "webfw.gap");
    const { reason, from, oldest } = JSON.parse(gap!.data);
    assertEquals([reason, from, typeof oldest], ["retention", first, "string"]);
    place = reader.lastEventId;
    assertEquals((await reader.take(3)).map(({ data }) => data), ["3", "4", "5"]);
  }
  await using again = await open(app, { "last-event-id": place });
  assertEquals((await again.take(3)).map(({ data }) => data), ["3", "4", "5"]);
});

Deno.test("An id of another epoch is a gap", async () => {
  const id = await news().publish("elsewhere");
  const { app, publish } = news();
  await publish("here");
  await using reader = await open(app, { "last-event-id": id });
  const [gap, message] = await reader.take(2);
  assertEquals([gap?.event, JSON.parse(gap!.data).reason, message?.data], ["webfw.gap", "epoch", '"here"']);
});

Deno.test("Garbage in Last-Event-ID is 400 before the stream, and its subscription is closed", async () => {
  const app = new App();
  const topic = app.topic("news");
  const subscriptions: Subscription[] = [];
  app.get("/", async () => {
    const subscription = topic.subscribe();
    subscriptions.push(subscription);
    return SSE(subscription);
  });
  const real = (await topic.publish(1)).id;
  const garbage = ["1", real + "0", real.slice(1), real.toUpperCase() + "!", "news=" + real + ",", "%", "a,b"];
  for (const id of garbage) {
    for (
      const [headers, path] of [[{ "last-event-id": id }, "/"], [
        {},
        `/?lastEventId=${encodeURIComponent(id)}`,
      ]] as const
    ) {
      const response = await app.fetch(new Request(`http://localhost${path}`, { headers }));
      const { detail } = await response.json();
      assertEquals(response.status, 400, id);
      assertStringIncludes(detail, "none of its events has such an id");
    }
  }
  await app.stop();
  for (const subscription of subscriptions) assertEquals(await subscription.nextBatch(), undefined);
});

Deno.test("Several topics come in one stream, and each is resumed where the client was", async () => {
  const app = new App();
  const [orders, prices] = [app.topic("orders & more"), app.topic("prices")];
  app.get("/", async () => SSE([orders.subscribe(), prices.subscribe()]));
  const seen: string[] = [];
  let place = "";
  let published = 0;
  for (let round = 0; round < 5; round++) {
    await orders.publish(published++);
    await prices.publish(published++);
    await using reader = await open(app, { "last-event-id": place });
    if (round > 0) seen.push(...(await reader.take(2)).map(({ data }) => data));
    else await reader.block();
    await prices.publish(published++);
    seen.push(...(await reader.take(1)).map(({ data }) => data));
    place = reader.lastEventId;
  }
  assertEquals(
    seen.toSorted((one, other) => Number(one) - Number(other)),
    Array.from({ length: 13 }, (_, index) => `${index + 2}`),
  );
});

Deno.test("The subscription is closed when the client disconnects, also if nothing is ever published", async () => {
  const app = new App();
  const opened = Promise.withResolvers<Subscription>();
  app.get("/", async (request) => {
    const subscription = request.app.topic("quiet").subscribe();
    opened.resolve(subscription);
    return SSE(subscription);
  });
  await using serving = await Serving.start(app);
  const connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("id: ");
  const subscription = await opened.promise;
  connection.close();
  // It is being read: the reading ends when it is closed.
  await until("the subscription ends", async () => !await subscription.nextBatch().catch(() => "reading"));
});

Deno.test("A generator is closed at its next value after the client has disconnected", async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const app = sending(async function* () {
    try {
      for (let count = 0;; count++) {
        yield count;
        await ticks(1);
      }
    } finally {
      resolve();
    }
  });
  await using serving = await Serving.start(app);
  const connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("data: 3");
  connection.close();
  await closed;
});

Deno.test("A source is read no further than the client takes", async () => {
  let asked = 0;
  const app = sending(async function* () {
    for (;;) yield ++asked;
  });
  const response = await app.fetch(new Request("http://localhost/"));
  await ticks(5);
  assertEquals(asked, 0);
  const reader = response.body!.getReader();
  for (let count = 1; count <= 3; count++) await reader.read();
  await ticks(5);
  assert(asked <= 5, `${asked} values for 3 chunks`);
  await reader.cancel();
});

Deno.test("A source that fails ends the stream, and the log says why; the client does not see the error", async () => {
  using log = new CapturedLog();
  const sent = await textOf(sending(async function* () {
    yield 1;
    throw new Error("the secret cause");
  }));
  assertEquals(sent, "data: 1\n\n");
  assertStringIncludes(log.text, "the secret cause");
});

Deno.test("When the application stops, streams of events end as whole ones, and their subscriptions are closed", async () => {
  const { app, publish } = news();
  const serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("id: ");
  await publish(1);
  await connection.until("data: 1");
  await serving.stop();
  assert((await connection.rest()).endsWith("0\r\n\r\n"));
});

Deno.test("Events of another method than GET break off: no client comes back for the rest", async () => {
  const app = new App();
  const response = Events(v.number());
  app.post("/failing", { response }, async function* () {
    yield 1;
    throw new Error("midway");
  });
  app.post("/endless", { response }, async function* () {
    yield 1;
    await new Promise(() => {});
  });
  const endings = { "/failing": async () => {}, "/endless": (serving: Serving) => serving.stop() };
  for (const [path, end] of Object.entries(endings)) {
    await using serving = await Serving.start(app);
    using connection = await RawConnection.open(serving.port);
    using _log = new CapturedLog();
    await connection.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
    await connection.until("data: 1\n\n");
    await end(serving);
    assertFalse((await connection.rest()).endsWith("0\r\n\r\n"), path);
  }
});
