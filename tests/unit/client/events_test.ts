// Streams of events that resume, with a server and a clock that the tests play.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { TopicGap } from "@webfw/core";
import { client } from "../../../src/client/client.ts";
import type { CallOptions, ClientEvent, ClientOptions, TextEventOptions } from "../../../src/client/types.ts";
import { EventConnection, EventServer } from "./support/event_server.ts";
import { FakeTime } from "../support/fake_time.ts";

// Loads it, which takes real time.
await import("../../../src/client/events.ts");

const NO_CONTENT = () => new Response(null, { status: 204 });

/** The failure of a connection, as platforms report it. */
const unreachable = () => new TypeError("fetch failed");

/** The streams and calls of any paths. */
interface AnyClient {
  events(path: string, values: unknown, options?: TextEventOptions): AsyncIterableIterator<ClientEvent<unknown>>;
  post(path: string, values: unknown, options?: CallOptions): Promise<AsyncIterableIterator<ClientEvent<unknown>>>;
}

function clientOf(options: ClientOptions): AnyClient {
  return client("http://localhost", options) as unknown as AnyClient;
}

function listen(
  server: EventServer,
  options: TextEventOptions = {},
  general: ClientOptions = {},
): AsyncIterableIterator<ClientEvent<unknown>> {
  return clientOf({ fetch: server.fetch, ...general }).events("/news", {}, options);
}

/** What the next read gives; undefined while it waits. */
function peek<Value>(promise: Promise<Value>): () => Value | undefined {
  let value: Value | undefined;
  promise.then((settled) => value = settled);
  return () => value;
}

/** The data of all events until the end. */
async function readAll(events: AsyncIterable<ClientEvent<unknown>>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of events) seen.push(event.gap ? event : event.data);
  return seen;
}

/** The lengths of the pauses until the stream ends, when chance leaves out nothing. */
async function pausesUntilEnd(time: FakeTime, events: AsyncIterable<ClientEvent<unknown>>): Promise<number[]> {
  const random = Math.random;
  Math.random = () => 0;
  try {
    const pauses: number[] = [];
    const end = peek(readAll(events));
    for (await time.settle(); end() === undefined; await time.settle()) {
      pauses.push(time.untilNext!);
      await time.advance(time.untilNext!);
    }
    return pauses;
  } finally {
    Math.random = random;
  }
}

/** A connection that has sent this and ended. */
function ended(text: string): EventConnection {
  const connection = new EventConnection(text);
  connection.end();
  return connection;
}

Deno.test("A broken connection comes back after its last id, and what had not ended is dropped", async () => {
  using time = new FakeTime();
  const first = new EventConnection('id: a\ndata: 1\n\nid: b\ndata: "lo');
  const server = new EventServer(first, ended("id: b\ndata: 2\n\n"), NO_CONTENT());
  const events = listen(server);
  assertEquals(await events.next(), { done: false, value: { id: "a", type: "message", data: 1 } });
  const next = peek(events.next());
  first.break();
  await time.advance(1_000);
  assertEquals(next()?.value, { id: "b", type: "message", data: 2 });
  const last = peek(events.next());
  await time.advance(1_000);
  assertEquals(last(), { done: true, value: undefined });
  assertEquals(server.ids, [null, "a", "b"]);
  assertEquals(server.requests.map(({ headers }) => headers.get("accept")), Array(3).fill("text/event-stream"));
});

Deno.test("An id without an event moves the place on, one in an unfinished block does not", async () => {
  using time = new FakeTime();
  const server = new EventServer(ended("id: begin\n\n"), ended(":\nid: beat\n\nid: unfinished\n"), NO_CONTENT());
  await pausesUntilEnd(time, listen(server));
  assertEquals(server.ids, [null, "begin", "beat"]);
});

Deno.test("Pauses grow while connections fail, and begin anew after an event", async () => {
  using time = new FakeTime();
  const server = new EventServer(
    unreachable(),
    unreachable(),
    new Response("", { status: 502 }),
    ended("id: 1\n\n"),
    ended("data: 1\n\n"),
    ended(":\n\n"),
    NO_CONTENT(),
  );
  assertEquals(await pausesUntilEnd(time, listen(server)), [1_000, 2_000, 4_000, 8_000, 1_000, 2_000]);
});

Deno.test("A connection that was open for 30 s was no failure, even if it brought nothing", async () => {
  using time = new FakeTime();
  const quiet = new EventConnection(":\n\n");
  const server = new EventServer(unreachable(), unreachable(), quiet, NO_CONTENT());
  const end = peek(readAll(listen(server)));
  await time.advance(3_000);
  assertEquals(server.requests.length, 3);
  await time.advance(30_000);
  quiet.end();
  await time.advance(1_000);
  assertEquals(end(), []);
});

Deno.test("The server's retry holds for the pauses that follow", async () => {
  using time = new FakeTime();
  const server = new EventServer(
    ended("retry: 250\n\n"),
    ended("data: 1\n\n"),
    ended("data: 2\n\n"),
    ended("retry: 3\ndata: 3\n\n"),
    ended("retry: 99999999999\ndata: 3\n\n"),
    NO_CONTENT(),
  );
  assertEquals(await pausesUntilEnd(time, listen(server)), [250, 250, 250, 100, 300_000]);
});

Deno.test("Retry-After of a status from 500 on is waited for, up to 5 minutes", async () => {
  using time = new FakeTime();
  const busy = (seconds: string) => new Response("", { status: 503, headers: { "retry-after": seconds } });
  const server = new EventServer(busy("20"), busy("86400"), NO_CONTENT());
  assertEquals(await pausesUntilEnd(time, listen(server)), [20_000, 300_000]);
});

Deno.test("408, 425 and 429 are tried again, after Retry-After or the usual pause", async () => {
  for (const status of [408, 425, 429]) {
    using time = new FakeTime();
    const busy = (headers: HeadersInit) => new Response("", { status, headers });
    const server = new EventServer(
      busy({ "retry-after": "20" }),
      busy({}),
      ended("id: 1\ndata: 1\n\n"),
      busy({ "retry-after": "7" }),
      NO_CONTENT(),
    );
    assertEquals(await pausesUntilEnd(time, listen(server)), [20_000, 2_000, 1_000, 7_000]);
  }
});

Deno.test("Another status below 500 is thrown, also when a connection comes back", async () => {
  using time = new FakeTime();
  for (const status of [400, 401, 404, 409, 422, 451]) {
    const server = new EventServer(new Response("", { status, headers: { "retry-after": "1" } }));
    const error = await assertRejects(() => listen(server).next());
    assertEquals((error as { status?: number }).status, status);
  }
  const server = new EventServer(ended("data: 1\n\n"), Response.json({ detail: "Signed out" }, { status: 401 }));
  const events = listen(server);
  await events.next();
  const failure = events.next().catch((error) => error.message);
  await time.advance(1_000);
  assertEquals(await failure, 'Cannot call GET /news: 401 "Signed out"');
  assertEquals(await events.next(), { done: true, value: undefined });
});

Deno.test("A reply that is no stream of events is thrown, and not read", async () => {
  const page = new EventConnection("<!doctype html>", { headers: { "content-type": "text/html" } });
  await assertRejects(
    () => listen(new EventServer(page)).next(),
    TypeError,
    'Cannot listen to /news: the reply is "text/html"',
  );
  await page.cancelled;
  await assertRejects(() => listen(new EventServer(new Response("", { status: 200 }))).next(), TypeError);
});

Deno.test("Data that is not JSON is an error that names raw, and raw leaves all data as text", async () => {
  using time = new FakeTime();
  const text = "data: 12\n\ndata: plain\n\n";
  const events = listen(new EventServer(new EventConnection(text)));
  assertEquals((await events.next()).value, { id: undefined, type: "message", data: 12 });
  await assertRejects(() => events.next(), SyntaxError, "give { raw: true } for text");
  const server = new EventServer(ended(text), NO_CONTENT());
  const seen = peek(readAll(listen(server, { raw: true })));
  await time.advance(1_000);
  assertEquals(seen(), ["12", "plain"]);
});

Deno.test("A gap is told as the server tells it, also among texts", async () => {
  const sent: TopicGap["gap"] = { reason: "retention", from: "a", oldest: null };
  const gap: NonNullable<ClientEvent<unknown>["gap"]> = sent;
  const events = listen(
    new EventServer(new EventConnection(`event: webfw.gap\nid: b\ndata: ${JSON.stringify(gap)}\n\n`)),
    { raw: true },
  );
  assertEquals((await events.next()).value, { gap });
  await events.return!();
});

Deno.test("A silence ends the connection, which comes back; any byte is no silence", async () => {
  using time = new FakeTime();
  const silent = new EventConnection("id: a\n\n");
  const server = new EventServer(silent, NO_CONTENT());
  const end = peek(readAll(listen(server)));
  await time.advance(44_000);
  silent.send(":");
  await time.advance(44_000);
  assertEquals(server.requests.length, 1);
  await time.advance(1_000);
  await silent.cancelled;
  await time.advance(1_000);
  assertEquals([end(), server.ids], [[], [null, "a"]]);
});

Deno.test("idleTimeout sets the silence, Infinity allows any", async () => {
  using time = new FakeTime();
  for (const [idleTimeout, limit] of [[200, 200], [Infinity, 2 ** 31 - 1]] as const) {
    const server = new EventServer(new EventConnection(":\n\n"), NO_CONTENT());
    const events = listen(server, { idleTimeout });
    const next = events.next();
    await time.settle();
    assertEquals(time.untilNext, limit);
    await events.return!();
    assertEquals([await next, time.untilNext], [{ done: true, value: undefined }, undefined]);
  }
});

Deno.test("A program that does not read is no silence of the server, and the server is not read either", async () => {
  using time = new FakeTime();
  const connection = new EventConnection("data: 1\n\ndata: 2\n\n");
  const events = listen(new EventServer(connection));
  assertEquals((await events.next()).value.data, 1);
  const { pulls } = connection;
  await time.advance(600_000);
  assertEquals([connection.pulls, time.untilNext], [pulls, undefined]);
  connection.send("data: 3\n\n");
  assertEquals([(await events.next()).value.data, (await events.next()).value.data], [2, 3]);
  await events.return!();
  await connection.cancelled;
});

Deno.test("A server that accepts and never replies is given up after the silence, or the timeout", async () => {
  using time = new FakeTime();
  for (
    const [options, general, limit] of [[{}, {}, 45_000], [{ timeout: 9 }, {}, 9], [{}, { timeout: 8 }, 8]] as const
  ) {
    const server = new EventServer(new Promise<Response>(() => {}), NO_CONTENT());
    const end = peek(readAll(listen(server, options, general)));
    await time.settle();
    assertEquals(time.untilNext, limit);
    await time.advance(limit);
    await time.advance(1_000);
    assertEquals([end(), server.requests.length], [[], 2]);
  }
});

Deno.test("A signal ends the stream without an error wherever it is, and leaves no timer", async () => {
  using time = new FakeTime();
  const states: [string, () => EventServer][] = [
    ["asks", () => new EventServer(new Promise<Response>(() => {}))],
    ["reads", () => new EventServer(new EventConnection(":\n\n"))],
    ["pauses", () => new EventServer(unreachable())],
  ];
  for (const whose of ["call", "client"]) {
    for (const [, make] of states) {
      const controller = new AbortController();
      const { signal } = controller;
      const events = whose === "call" ? listen(make(), { signal }) : listen(make(), {}, { signal });
      const next = events.next();
      await time.settle();
      controller.abort();
      assertEquals(await next, { done: true, value: undefined });
      assertEquals(time.untilNext, undefined);
    }
    const server = new EventServer();
    const ended = listen(server, { signal: AbortSignal.abort() });
    assertEquals([await ended.next(), server.requests.length], [{ done: true, value: undefined }, 0]);
  }
});

Deno.test("A signal also drops the events that have come and were not read", async () => {
  const controller = new AbortController();
  const connection = new EventConnection("data: 1\n\ndata: 2\n\n");
  const events = listen(new EventServer(connection), { signal: controller.signal });
  await events.next();
  controller.abort();
  assertEquals(await events.next(), { done: true, value: undefined });
  await connection.cancelled;
});

Deno.test("return() ends a read that waits, wherever it is, and a stream that was never read", async () => {
  using time = new FakeTime();
  const connection = new EventConnection(":\n\n");
  for (const answer of [new Promise<Response>(() => {}), connection, unreachable()]) {
    const events = listen(new EventServer(answer));
    const next = events.next();
    await time.settle();
    assertEquals(await events.return!(), { done: true, value: undefined });
    assertEquals([await next, time.untilNext], [{ done: true, value: undefined }, undefined]);
    assertEquals(await events.next(), { done: true, value: undefined });
  }
  await connection.cancelled;
  const server = new EventServer();
  const unread = listen(server);
  assertEquals(await unread.return!(), { done: true, value: undefined });
  assertEquals([await unread.next(), server.requests.length], [{ done: true, value: undefined }, 0]);
});

Deno.test("A reply that comes after the end is not read", async () => {
  using time = new FakeTime();
  const late = Promise.withResolvers<Response>();
  const events = listen(new EventServer(late.promise));
  const next = events.next();
  await time.settle();
  await events.return!();
  await next;
  const connection = new EventConnection(":\n\n");
  late.resolve(connection.response);
  await connection.cancelled;
});

Deno.test("Leaving the loop ends the connection", async () => {
  const connection = new EventConnection("data: 1\n\ndata: 2\n\n");
  for await (const event of listen(new EventServer(connection))) {
    assertEquals(event.gap ?? event.data, 1);
    break;
  }
  await connection.cancelled;
});

Deno.test("Headers are asked for with each connection, and those of a call name the place to begin", async () => {
  using time = new FakeTime();
  let count = 0;
  const server = new EventServer(unreachable(), ended("id: b\ndata: 1\n\n"), NO_CONTENT());
  const headers = () => ({ authorization: `Bearer ${++count}` });
  await pausesUntilEnd(time, listen(server, { headers: { "last-event-id": "a" } }, { headers }));
  assertEquals(server.requests.map((request) => request.headers.get("authorization")), [
    "Bearer 1",
    "Bearer 2",
    "Bearer 3",
  ]);
  assertEquals(server.ids, ["a", "a", "b"]);
});

Deno.test("A function for headers that fails is a mistake at first, and a failure of the network later", async () => {
  using time = new FakeTime();
  const failing = () => Promise.reject(unreachable());
  await assertRejects(() => listen(new EventServer(), {}, { headers: failing }).next(), TypeError, "fetch failed");
  const server = new EventServer(ended("data: 1\n\n"), NO_CONTENT());
  let count = 0;
  const headers = () => ++count === 2 ? failing() : {};
  assertEquals(await pausesUntilEnd(time, listen(server, {}, { headers })), [1_000, 2_000]);
  assertEquals(count, 3);
});

Deno.test("A mistake of the program is thrown at once", async () => {
  const events = (values: Record<string, unknown>, fetch: () => Promise<Response>) =>
    clientOf({ fetch }).events("/news/{id}", values);
  const never = () => Promise.reject(new Error("It is not asked"));
  await assertRejects(() => events({}, never).next(), TypeError, '"id" is missing');
  await assertRejects(() => events({ id: 1 }, never).next(), Error, "It is not asked");
  await assertRejects(
    () => listen(new EventServer(), { idle: 1 } as never).next(),
    TypeError,
    'option "idle" is unknown',
  );
  await assertRejects(() => listen(new EventServer(), { idleTimeout: 0 }).next(), RangeError, "milliseconds above 0");
});

Deno.test("An id of any characters comes back as its bytes in UTF-8", async () => {
  using time = new FakeTime();
  const server = new EventServer(ended("id: é→😀\ndata: 1\n\n"), ended("id\n\n"), NO_CONTENT());
  await pausesUntilEnd(time, listen(server));
  const [, second, third] = server.ids;
  assertEquals(new TextDecoder().decode(Uint8Array.from(second!, (char) => char.charCodeAt(0))), "é→😀");
  assertEquals(third, "", "an empty id resets the place");
});

Deno.test("An event that is too large ends the stream with an error, as it would come again", async () => {
  const connection = new EventConnection();
  const events = listen(new EventServer(connection));
  const failure = assertRejects(() => events.next(), RangeError, "an item is longer than 16777216 characters");
  const part = "x".repeat(4 * 1024 * 1024);
  for (let count = 0; count < 5; count++) connection.send(part);
  await failure;
  await connection.cancelled;
});

Deno.test("Characters may be cut anywhere between chunks", async () => {
  const bytes = new TextEncoder().encode('data: "é→😀"\n\n');
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
    },
  });
  const reply = new Response(body, { headers: { "content-type": "Text/Event-Stream; charset=utf-8" } });
  const events = listen(new EventServer(Promise.resolve(reply)));
  assertEquals((await events.next()).value.data, "é→😀");
  await events.return!();
});

Deno.test("The events of a POST come once: its end ends them, and its break is an error", async () => {
  const post = (connection: EventConnection, signal?: AbortSignal) => {
    const fetch = new EventServer(connection).fetch;
    return clientOf({ fetch }).post("/answers", { body: {} }, signal ? { signal } : {});
  };
  assertEquals(await readAll(await post(ended("id: 1\ndata: 1\n\ndata: 2\n\n"))), [1, 2]);
  const broken = new EventConnection("data: 1\n\n");
  const events = await post(broken);
  await events.next();
  broken.break();
  await assertRejects(() => events.next(), TypeError, "The connection was reset");
  const left = new EventConnection();
  const unread = await post(left);
  assertEquals(await unread.return!(), { done: true, value: undefined });
  await left.cancelled;
  const controller = new AbortController();
  const aborted = await post(new EventConnection(), controller.signal);
  const next = aborted.next();
  controller.abort();
  assertEquals(await next, { done: true, value: undefined });
  assert(controller.signal.aborted);
});
