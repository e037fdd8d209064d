// "`websocket` gives an async iterable of what the server sends, with `send(message)`, which waits
// while much is queued, `close()`, and `Symbol.asyncDispose`; a refusal before the upgrade throws."

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, type WebSocketConnection } from "@webfw/core";
import { client, type ClientOptions, ProblemError } from "@webfw/core/client";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { Serving } from "../support/serving.ts";

const Said = v.object({ text: v.string(), at: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.toDate())) });
const Heard = v.object({ room: v.string(), text: v.string(), at: v.date() });

/** The latest socket of `/open`. */
let latest = Promise.withResolvers<WebSocketConnection>();

function routesOf(app: App) {
  const guard = dependency({
    headers: { authorization: v.optional(v.string()) },
    security: { token: { type: "http", scheme: "bearer" } },
  }, async (_request, { headers }) => {
    if (headers.authorization !== "Bearer s3cret") throw new HTTPError(401, "Sign in");
  });
  const chat = { receive: Said, send: Heard, query: { shout: v.optional(v.boolean()) } };
  return {
    chat: app.websocket("/chat/{room}", chat, async (socket, { room, shout }) => {
      for await (const { text, at = new Date(0) } of socket) {
        await socket.send({ room, text: shout ? text.toUpperCase() : text, at });
      }
    }),
    echo: app.websocket("/echo", async (socket) => {
      for await (const message of socket) await socket.send(message);
    }),
    guarded: app.websocket("/guarded", { deps: { guard }, send: v.string() }, async (socket) => {
      await socket.send("welcome");
    }),
    count: app.websocket("/count", { query: { code: v.number() }, send: v.number() }, async (socket, { code }) => {
      await socket.send(1);
      await socket.send(2);
      socket.close(code, "that is all");
    }),
    fail: app.websocket("/fail", { send: v.number() }, async (socket) => {
      await socket.send(1);
      throw new Error("It failed");
    }),
    open: app.websocket("/open", async (socket) => {
      latest.resolve(socket);
      await new Promise((resolve) => socket.signal.addEventListener("abort", resolve));
    }),
  };
}

type Api = ReturnType<typeof routesOf>;

/** A client of a running server. Disposing of it stops the server. */
async function start(options: ClientOptions = {}) {
  const app = new App({ limits: { message: 32 * 1024 * 1024 } });
  routesOf(app);
  const serving = await Serving.start(app);
  latest = Promise.withResolvers();
  return {
    serving,
    shop: client<Api>(serving.origin, options),
    [Symbol.asyncDispose]: () => serving.stop(),
  };
}

/** The messages until the end, and how it was closed. */
async function readAll(socket: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = [];
  try {
    for await (const message of socket) seen.push(message);
  } catch (error) {
    seen.push((error as Error).message);
  }
  return seen;
}

Deno.test("websocket gives an async iterable of what the server sends, in the JSON form of the model", async () => {
  await using server = await start();
  await using room = await server.shop.websocket("/chat/{room}", { room: "a b/ü", shout: true });
  await room.send({ text: "hello" });
  await room.send({ text: "again", at: "1970-01-02T00:00:00Z" });
  const heard: { room: string; text: string; at: string }[] = [];
  for await (const message of room) {
    heard.push(message);
    if (heard.length === 2) break;
  }
  assertEquals(heard, [
    { room: "a b/ü", text: "HELLO", at: "1970-01-01T00:00:00.000Z" },
    { room: "a b/ü", text: "AGAIN", at: "1970-01-02T00:00:00.000Z" },
  ]);
  assertEquals(room.closed, null, "leaving the loop does not close it");
});

Deno.test("Without schemas messages are texts and bytes, with the option raw", async () => {
  await using server = await start();
  const socket = await server.shop.websocket("/echo", undefined, { raw: true });
  await socket.send("12");
  await socket.send(Uint8Array.of(0, 255));
  const seen: unknown[] = [];
  for await (const message of socket) {
    seen.push(message);
    if (seen.length === 2) await socket.close();
  }
  assertEquals(seen, ["12", Uint8Array.of(0, 255)]);
  assertEquals(socket.closed?.code, 1000);
});

Deno.test("Text that is not JSON is an error that names raw", async () => {
  const app = new App();
  app.websocket("/open", async (socket) => await socket.send("plain"));
  await using serving = await Serving.start(app);
  // As a program without types would.
  const shop = client<Api>(serving.origin);
  await using socket = await shop.websocket("/open" as "/guarded");
  assertEquals(await readAll(socket), ["Cannot read the data: it is not JSON, give { raw: true } for text"]);
});

Deno.test("A close with 1000 ends the loop, any other code is thrown with its reason, after what came before", async () => {
  await using server = await start();
  const ends = async (code: number) => await readAll(await server.shop.websocket("/count", { code }));
  assertEquals(await ends(1000), [1, 2]);
  assertEquals(await ends(4002), [1, 2, 'The WebSocket is closed: 4002 "that is all"']);
  assertEquals(await ends(1011), [1, 2, 'The WebSocket is closed: 1011 "that is all"']);
});

Deno.test("A handler that fails, and a server that stops, are thrown", async () => {
  using _log = new CapturedLog();
  await using server = await start();
  assertEquals(await readAll(await server.shop.websocket("/fail")), [1, 'The WebSocket is closed: 1011 ""']);
  const socket = await server.shop.websocket("/open", {}, { raw: true });
  await latest.promise;
  server.serving.tellToStop();
  const [end] = await readAll(socket);
  assert(String(end).startsWith("The WebSocket is closed: 1001 "));
  const { name, code } = await socket.send("late").catch((error) => error);
  assertEquals([name, code], ["WebSocketClosedError", 1001]);
});

Deno.test("close() tells the server its code and reason, ends the loop without an error, and may be called again", async () => {
  await using server = await start();
  const socket = await server.shop.websocket("/open", {}, { raw: true });
  const end = readAll(socket);
  const { signal } = await latest.promise;
  await socket.close(4001, "bye");
  await socket.close();
  assertEquals(await end, []);
  assertEquals([signal.reason.code, signal.reason.reason], [4001, "bye"]);
  assertEquals([socket.closed?.code, socket.closed?.reason], [4001, "bye"]);
  await assertRejects(() => socket.send("late"), Error, 'The WebSocket is closed: 4001 "bye"');
  const other = await server.shop.websocket("/open", {}, { raw: true });
  assertThrows(() => other.close(1001));
  await other.close();
});

Deno.test("`Symbol.asyncDispose` closes the socket with 1000, and waits until the server has closed it", async () => {
  await using server = await start();
  let closed: AbortSignal;
  {
    await using _socket = await server.shop.websocket("/open", {}, { raw: true });
    closed = (await latest.promise).signal;
    assertEquals(closed.aborted, false);
  }
  assertEquals([closed.aborted, closed.reason.code], [true, 1000]);
});

Deno.test("A refusal before the upgrade throws: the problem of a guard, of validation, of a missing route", async () => {
  await using server = await start();
  const { shop } = server;
  const guarded = await assertRejects(() => shop.websocket("/guarded"), ProblemError);
  assertEquals([guarded.status, guarded.problem.detail], [401, "Sign in"]);
  const invalid = await assertRejects(() => shop.websocket("/count", { code: "x" as never }), ProblemError);
  assertEquals([invalid.status, invalid.issues[0]?.path], [422, ["code"]]);
  const missing = await assertRejects(() => shop.websocket("/nope" as "/open", {}, { raw: true }), ProblemError);
  assertEquals(missing.status, 404);
  await using socket = await shop.websocket("/guarded", {}, { headers: { authorization: "Bearer s3cret" } });
  assertEquals(await readAll(socket), ["welcome"]);
});

Deno.test("headers of the client are sent where the platform can, by a function for each socket", async () => {
  await using server = await start({ headers: async () => ({ authorization: "Bearer s3cret" }) });
  assertEquals(await readAll(await server.shop.websocket("/guarded")), ["welcome"]);
});

Deno.test("A server that cannot be reached throws as fetch does", async () => {
  const server = await start();
  await server.serving.stop();
  const failure = await fetch(server.serving.origin).catch((error) => error);
  await assertRejects(() => server.shop.websocket("/guarded"), TypeError, failure.message);
});

Deno.test("An opening takes no longer than its timeout, and no longer than its signal", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) connections.push(connection);
  })();
  const shop = client<Api>(`http://127.0.0.1:${listener.addr.port}`);
  const late = await shop.websocket("/guarded", {}, { timeout: 1 }).catch((error) => error);
  assertEquals(late.name, "TimeoutError");
  const stop = new AbortController();
  const opening = shop.websocket("/guarded", {}, { signal: stop.signal }).catch((reason) => reason);
  stop.abort("enough");
  assertEquals(await opening, "enough");
  listener.close();
  await accepting.catch(() => {});
  for (const connection of connections) connection.close();
});

Deno.test("A signal of the call or the client ends the loop without an error, and closes the socket", async () => {
  for (const whose of ["call", "client"]) {
    const stop = new AbortController();
    const { signal } = stop;
    await using server = await start(whose === "client" ? { signal } : {});
    const socket = await server.shop.websocket("/open", {}, { raw: true, ...(whose === "call" && { signal }) });
    const end = readAll(socket);
    const { signal: closed } = await latest.promise;
    stop.abort();
    assertEquals(await end, []);
    await socket.close();
    assert(closed.aborted);
  }
});

Deno.test("send(message) goes on when the server reads what was queued", async () => {
  await using server = await start();
  const { shop } = server;
  const quick = await shop.websocket("/echo", {}, { raw: true });
  // Together below the 16 MiB that a page may leave unread: it may come to read them only at the end.
  const large = "x".repeat(1_500_000);
  const echoed = (async () => {
    const seen: boolean[] = [];
    for await (const message of quick) {
      if (seen.push(message === large) === 5) break;
    }
    return seen;
  })();
  for (let number = 0; number < 5; number++) await quick.send(large);
  assertEquals(await echoed, Array(5).fill(true));
  await quick.close();
});

Deno.test("A message without a JSON form is refused, and is not sent as text", async () => {
  await using server = await start();
  const socket = await server.shop.websocket("/chat/{room}", { room: "a" });
  for (const message of [undefined, () => {}, Symbol()]) {
    assertThrows(() => socket.send(message as never), TypeError, " as JSON");
  }
  await socket.send({ text: "hello" });
  for await (const { text } of socket) {
    assertEquals(text, "hello");
    break;
  }
  await socket.close();
});

Deno.test("A signal that is aborted between the steps of an opening leaves no socket", async () => {
  await using server = await start();
  for (let turns = 0; turns < 20; turns++) {
    const stop = new AbortController();
    const headers = () => {
      let step = Promise.resolve();
      for (let turn = 0; turn < turns; turn++) step = step.then(() => {});
      step.then(() => stop.abort("enough"));
      return {};
    };
    const shop = client<Api>(server.serving.origin, { headers });
    const opening = shop.websocket("/open", {}, { raw: true, signal: stop.signal });
    assertEquals(await opening.catch((reason) => reason), "enough");
  }
});

Deno.test("Two loops share the messages, and both end with the socket", async () => {
  await using server = await start();
  const socket = await server.shop.websocket("/echo", {}, { raw: true });
  const texts = Array.from({ length: 10 }, (_, number) => `${number}`);
  const seen: unknown[] = [];
  const loops = [1, 2].map(async () => {
    for await (const message of socket) {
      if (seen.push(message) === texts.length) socket.close();
    }
  });
  for (const text of texts) await socket.send(text);
  await Promise.all(loops);
  assertEquals(seen, texts);
});

Deno.test("An unknown option is refused", async () => {
  const shop = client<Api>("http://127.0.0.1:1");
  await assertRejects(
    () => shop.websocket("/guarded", {}, { protocol: "x" } as never),
    TypeError,
    '"protocol" is unknown',
  );
});
