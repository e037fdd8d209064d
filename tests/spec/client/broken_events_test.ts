// "When the connection breaks it comes back with `Last-Event-ID` … and goes on where it was; a first
// connection that fails is tried again likewise", over connections that servers break.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, dependency, Events, HTTPError, SSE } from "@webfw/core";
import { client, type ClientEvent, ProblemError } from "@webfw/core/client";
import * as v from "valibot";
import { freePorts } from "../../support/free_ports.ts";
import { Serving } from "../support/serving.ts";
import { countListeners } from "./support/listeners.ts";

const EVENTS = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
const CHUNKED = `${EVENTS}transfer-encoding: chunked\r\n\r\n`;
const NO_CONTENT = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

/** The route of the servers that send what a test gives them. */
type News = { news: ReturnType<typeof routesOf>["news"] };

function routesOf(app: App) {
  const topic = app.topic<{ n: number }>("news");
  const guard = dependency({
    headers: { authorization: v.optional(v.string()) },
    security: { token: { type: "http", scheme: "bearer" } },
  }, async (_request, { headers }) => {
    if (headers.authorization !== "Bearer new") throw new HTTPError(401, "Sign in");
  });
  const filled = "x".repeat(65_536);
  return {
    topic,
    news: app.get("/news", { response: Events(v.unknown()) }, async () => SSE(topic.subscribe({ from: "earliest" }))),
    guarded: app.get("/guarded", { deps: { guard }, response: Events(v.number()) }, async function* () {
      yield { id: "a", retry: 100, data: 1 };
    }),
    answer: app.post(
      "/answers",
      { body: v.string(), response: Events(v.string()) },
      async function* (_request, { body }) {
        yield { id: "1", event: "part", data: body };
        yield { id: "2", event: "part", data: body.toUpperCase() };
      },
    ),
    flood: app.get("/flood", { response: Events(v.string()) }, async function* () {
      for (;;) {
        sent += filled.length;
        yield filled;
      }
    }),
  };
}

/** How many characters `/flood` has sent. */
let sent = 0;

/** A running application and its client. Disposing of it stops it. */
async function start() {
  const app = new App();
  const routes = routesOf(app);
  const serving = await Serving.start(app);
  return {
    serving,
    shop: client<typeof routes>(serving.origin),
    [Symbol.asyncDispose]: () => serving.stop(),
  };
}

/** Answers each connection with bytes of its own, and closes it unless it is to wait. */
class RawServer implements AsyncDisposable {
  /** The heads of the requests. */
  readonly heads: string[] = [];
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections: Deno.Conn[] = [];
  readonly #accepting: Promise<void>;

  /** Answers by a list: parts of text, one after another. A connection without an answer waits. */
  constructor(...answers: (readonly string[])[]) {
    this.#accepting = this.#accept(answers);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  /** The ids that clients came with. */
  get ids(): (string | undefined)[] {
    return this.heads.map((head) => /^last-event-id: (.*)\r$/im.exec(head)?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const connection of this.#connections) connection.close();
  }

  async #accept(answers: (readonly string[])[]): Promise<void> {
    for await (const connection of this.#listener) {
      this.heads.push(await readHead(connection));
      const answer = answers.shift();
      if (!answer) {
        this.#connections.push(connection);
        continue;
      }
      for (const part of answer) await connection.write(new TextEncoder().encode(part));
      connection.close();
    }
  }
}

async function readHead(connection: Deno.Conn): Promise<string> {
  const decoder = new TextDecoder();
  const part = new Uint8Array(65_536);
  let head = "";
  while (!head.includes("\r\n\r\n")) {
    const count = await connection.read(part);
    if (count === null) break;
    head += decoder.decode(part.subarray(0, count), { stream: true });
  }
  return head;
}

/** One part of a chunked body. */
function chunk(text: string): string {
  return `${new TextEncoder().encode(text).length.toString(16)}\r\n${text}\r\n`;
}

/** What the stream gives until its end. */
async function readAll(events: AsyncIterable<ClientEvent<unknown>>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of events) seen.push(event.gap ? event : event.data);
  return seen;
}

Deno.test("When the connection breaks it comes back with `Last-Event-ID`, and goes on where it was", async () => {
  await using server = new RawServer(
    [CHUNKED, chunk("retry: 100\nid: a\ndata: 1\n\nid: lost\nda")],
    [CHUNKED, chunk("id: b\r"), chunk("\ndata: 2\r\n\r"), chunk("\n: the length that follows is wrong"), "zz\r\n"],
    ["no HTTP at all\r\n\r\n"],
    [],
    [`${EVENTS}content-length: 999\r\n\r\nid: \u{1F600} c\ndata: 3\n\n`],
    [NO_CONTENT],
  );
  assertEquals(await readAll(client<News>(server.origin).events("/news")), [1, 2, 3]);
  assertEquals(server.ids, [undefined, "a", "b", "b", "b", "\u{1F600} c"]);
});

Deno.test("A first connection that fails is tried again likewise", async () => {
  const [port = 0] = freePorts(1);
  const failed = Promise.withResolvers<void>();
  const shop = client<ReturnType<typeof routesOf>>(`http://127.0.0.1:${port}`, {
    fetch: (request) => fetch(request).finally(failed.resolve),
  });
  const events = shop.events("/news");
  const first = events.next();
  await failed.promise;
  const app = new App();
  const { topic } = routesOf(app);
  await using _serving = await Serving.start(app, { port });
  await topic.publish({ n: 1 });
  assertEquals((await first).value.data, { n: 1 });
  await events.return!();
});

Deno.test("It ends, without an error, at `signal`, and leaves nothing behind: while it asks or waits", async () => {
  const answers: Record<string, readonly string[][]> = {
    "it asks": [],
    "it waits": [[CHUNKED, chunk("retry: 300000\n\n"), "0\r\n\r\n"]],
  };
  for (const answer of Object.values(answers)) {
    await using server = new RawServer(...answer);
    const stop = new AbortController();
    const listeners = countListeners(stop.signal);
    const asked = Promise.withResolvers<void>();
    const shop = client<News>(server.origin, {
      signal: stop.signal,
      fetch(request) {
        const reply = fetch(request);
        (answer.length === 0 ? Promise.resolve() : reply).then(() => setTimeout(asked.resolve, 0));
        return reply;
      },
    });
    const end = readAll(shop.events("/news"));
    await asked.promise;
    stop.abort();
    assertEquals([await end, listeners()], [[], 0]);
    assertEquals(await readAll(shop.events("/news")), [], "it is aborted before it begins");
  }
});

Deno.test("A 4xx is thrown, at first and when it comes back, with the headers of that request", async () => {
  await using server = await start();
  let token = "old";
  const shop = client<ReturnType<typeof routesOf>>(server.serving.origin, {
    headers: () => ({ authorization: `Bearer ${token}` }),
  });
  const refused = await assertRejects(() => shop.events("/guarded").next(), ProblemError);
  assertEquals([refused.status, refused.problem.detail], [401, "Sign in"]);
  token = "new";
  const events = shop.events("/guarded");
  assertEquals((await events.next()).value, { id: "a", type: "message", data: 1 });
  token = "expired";
  assertEquals((await assertRejects(() => events.next(), ProblemError)).status, 401);
  assertEquals(await events.next(), { done: true, value: undefined });
});

Deno.test("A POST that streams an answer gives the same async iterable, which does not resume", async () => {
  await using server = await start();
  const seen: unknown[] = [];
  for await (const event of await server.shop.post("/answers", { body: "hello" })) seen.push(event);
  assertEquals(seen, [{ id: "1", type: "part", data: "hello" }, { id: "2", type: "part", data: "HELLO" }]);
  await using raw = new RawServer([CHUNKED, chunk("id: 1\ndata: 1\n\n")]);
  const answers = client<ReturnType<typeof routesOf>>(raw.origin).post("/answers", { body: "a" });
  await assertRejects(async () => await readAll(await answers), TypeError);
  assertEquals(raw.heads.length, 1);
});

Deno.test("A program that does not read has little kept for it, and the server waits", async () => {
  await using server = await start();
  sent = 0;
  const events = server.shop.events("/flood");
  await events.next();
  // Requests take the place of a time: the server could send without end meanwhile.
  for (let count = 0; count < 300; count++) {
    await assertRejects(() => server.shop.events("/guarded").next(), ProblemError);
  }
  assert(sent < 32 * 1024 * 1024, `${sent} characters were sent`);
  await events.return!();
});

Deno.test("An id of any length comes back, or the server refuses it", async () => {
  const id = "x".repeat(300_000);
  await using server = new RawServer(
    [CHUNKED, chunk(`retry: 100\nid: ${id}\ndata: 1\n\n`), "0\r\n\r\n"],
    ["HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"],
  );
  const events = client<News>(server.origin).events("/news");
  assertEquals((await events.next()).value.data, 1);
  assertEquals((await assertRejects(() => events.next(), ProblemError)).status, 431);
});
