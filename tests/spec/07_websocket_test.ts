// Section 7 of the contract: `app.websocket(path, { params, query, receive, send }, handler)`. `socket.request` is the HttpRequest;
// a message that fails its schema closes with 1007, shutdown 1001, handler failure 1011.

import { App, dependency, WebSocketClosedError } from "@webfw/core";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { OPCODE, RawSocket } from "./support/raw_socket.ts";
import { Serving } from "./support/serving.ts";
import { SocketClient } from "./support/socket_client.ts";

const Said = v.object({ text: v.string() });
const Heard = v.object({ text: v.string(), room: v.string(), times: v.number() });

Deno.test("messages come and go as JSON that fits its schemas, and arguments are bound as of any route", async () => {
  const app = new App();
  app.websocket("/chat/{room}", {
    query: { times: v.optional(v.number(), 2) },
    receive: Said,
    send: Heard,
  }, async (socket, { room, times }) => {
    for await (const { text } of socket) {
      const reply = { text, room, times, secret: "not in the schema" };
      await socket.send(reply);
    }
  });
  await using serving = await Serving.start(app);
  await using client = await SocketClient.open(serving.origin, "/chat/lobby?times=3");
  client.send({ text: "Hello", more: 1 });
  assertEquals(await client.next(), '{"text":"Hello","room":"lobby","times":3}');
  client.send({ text: "Bye" });
  assertEquals(await client.next(), '{"text":"Bye","room":"lobby","times":3}');
});

Deno.test("without a schema text is a string, and binary a Uint8Array", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  await using serving = await Serving.start(app);
  await using client = await SocketClient.open(serving.origin, "/");
  for (const message of ["", "Grüße 👋", "{}", new Uint8Array(), new Uint8Array([0, 1, 255])]) {
    client.send(message);
    assertEquals(await client.next(), message);
  }
});

Deno.test("socket.request is the request that was upgraded", async () => {
  const app = new App<{ greeting: string }>();
  app.lifespan(async function* () {
    yield { greeting: "Hello" };
  });
  app.websocket("/{name}", async ({ request, send: _, ...socket }, { name }) => {
    void socket;
    const { method, path, params, state, query, route } = request;
    assertEquals([method, path, params.name, state.greeting, query.get("q"), route?.path], [
      "GET",
      "/Ada",
      name,
      "Hello",
      "1",
      "/{name}",
    ]);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/Ada?q=1");
  assertEquals(await client.closed, [1000, ""]);
});

Deno.test("a handler that returns closes with 1000, after all that it has sent", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for (let number = 0; number < 500; number++) void socket.send(String(number));
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  for (let number = 0; number < 500; number++) assertEquals(await client.next(), String(number));
  assertEquals(await client.closed, [1000, ""]);
});

Deno.test("a handler that fails closes with 1011: the cause is logged, and not told", async () => {
  const app = new App();
  app.websocket("/rooms/{id}", async () => {
    throw new Error("The password is secret");
  });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const client = await SocketClient.open(serving.origin, "/rooms/1");
  assertEquals(await client.closed, [1011, ""]);
  assertEquals(log.lines.length, 1);
  assert(/A WebSocket failed route=.*\/rooms\/\{id\}.*The password is secret/.test(log.text), log.text);
});

const MISFITS: readonly (readonly [sent: unknown, code: number, reason: string])[] = [
  ["{", 1007, "A message must be well-formed JSON"],
  ["", 1007, "A message must be well-formed JSON"],
  [{ text: 7 }, 1007, "text: Invalid type: expected string"],
  [{}, 1007, "text: Missing value"],
  [[], 1007, "Invalid type: expected Object"],
  ["[".repeat(100_000) + "]".repeat(100_000), 1007, "Invalid type: expected Object"],
  [new Uint8Array([123, 125]), 1003, "A message must be text"],
];

for (const [sent, code, reason] of MISFITS) {
  const name = typeof sent === "string" ? sent.slice(0, 10) : JSON.stringify(sent);
  Deno.test(`a message that does not fit closes with ${code}, and the handler sees the end: ${name}`, async () => {
    const app = new App();
    const seen = Promise.withResolvers<unknown[]>();
    app.websocket("/", { receive: Said }, async (socket) => {
      const messages: unknown[] = [];
      for await (const message of socket) messages.push(message);
      seen.resolve([messages, socket.closed?.code]);
    });
    await using serving = await Serving.start(app);
    using log = new CapturedLog();
    const client = await SocketClient.open(serving.origin, "/");
    client.send({ text: "fits" });
    client.send(sent);
    client.send({ text: "comes after" });
    assertEquals(await client.closed, [code, reason]);
    assertEquals(await seen.promise, [[{ text: "fits" }], code]);
    assertEquals(log.text, "");
  });
}

Deno.test("the reason of a close has room for 123 bytes, whatever a client makes of it", async () => {
  const app = new App();
  app.websocket("/", { receive: v.record(v.string(), v.number()) }, async (socket) => {
    for await (const _ of socket);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  client.send({ ["é".repeat(1000)]: "x" });
  assertEquals(await client.closed, [1007, "é".repeat(61)]);
});

Deno.test("schemas may be async, and recursive ones end at what the stack holds", async () => {
  const app = new App();
  const checked = v.pipeAsync(v.string(), v.checkAsync(async (text) => text !== "no", "Not allowed"));
  app.websocket("/async", { receive: checked, send: checked }, async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  interface Tree {
    below?: Tree | undefined;
  }
  const Tree: v.GenericSchema<Tree> = v.object({ below: v.optional(v.lazy(() => Tree)) });
  app.websocket("/tree", { receive: Tree }, async (socket) => {
    for await (const _ of socket);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/async");
  client.send('"yes"');
  assertEquals(await client.next(), '"yes"');
  client.send('"no"');
  assertEquals(await client.closed, [1007, "Not allowed"]);
  const deep = await SocketClient.open(serving.origin, "/tree");
  deep.send('{"below":'.repeat(50_000) + "{}" + "}".repeat(50_000));
  assertEquals(await deep.closed, [1007, "A message is nested too deeply"]);
});

Deno.test("send() of what does not fit throws a TypeError without the value, and the socket stays open", async () => {
  const app = new App();
  app.websocket("/", { send: Heard }, async (socket) => {
    const wrong = { text: "secret", room: 7, times: "x" } as unknown as v.InferInput<typeof Heard>;
    const error = await assertRejects(() => socket.send(wrong), TypeError);
    assertEquals(
      error.message,
      'Cannot send the message of WEBSOCKET /: it does not fit the send schema, "room" should be string, "times" should be number',
    );
    await socket.send({ text: "fits", room: "a", times: 1 });
  });
  app.websocket("/plain", async (socket) => {
    const error = await assertRejects(() => socket.send(7 as unknown as string), TypeError);
    assertEquals(
      error.message,
      "Cannot send the message of WEBSOCKET /plain: without a send schema it must be a string or a Uint8Array, got number",
    );
    await socket.send("fits");
  });
  await using serving = await Serving.start(app);
  for (const path of ["/", "/plain"]) {
    const client = await SocketClient.open(serving.origin, path);
    assert(String(await client.next()).includes("fits"));
    assertEquals(await client.closed, [1000, ""]);
  }
});

Deno.test("the client's close ends the loop, after the messages that came before it", async () => {
  const app = new App();
  const seen = Promise.withResolvers<unknown[]>();
  const gate = Promise.withResolvers<void>();
  app.websocket("/", async (socket) => {
    socket.signal.addEventListener("abort", () => gate.resolve());
    await gate.promise;
    const messages = await Array.fromAsync(socket);
    const { closed, signal } = socket;
    seen.resolve([messages, closed?.code, closed?.reason, signal.reason === closed]);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  client.send("one");
  client.send("two");
  assertEquals(await client.close(4001, "enough"), [4001, "enough"]);
  assertEquals(await seen.promise, [["one", "two"], 4001, "enough", true]);
});

Deno.test("a connection that breaks off is closed with 1006", async () => {
  const app = new App();
  const opened = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<number | undefined>();
  app.websocket("/", async (socket) => {
    opened.resolve();
    for await (const _ of socket);
    seen.resolve(socket.closed?.code);
  });
  await using serving = await Serving.start(app);
  const client = await RawSocket.open(serving.port, "/");
  await opened.promise;
  client.kill();
  assertEquals(await seen.promise, 1006);
});

Deno.test("send() to a client that has gone throws, which ends a handler as if it had returned", async () => {
  const app = new App();
  const thrown = Promise.withResolvers<unknown>();
  app.websocket("/", async (socket) => {
    await new Promise((resolve) => socket.signal.addEventListener("abort", resolve));
    void socket.send("nobody waits for this one");
    try {
      await socket.send("lost");
    } catch (error) {
      thrown.resolve(error);
      throw error;
    }
  });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const client = await SocketClient.open(serving.origin, "/");
  await client.close(1000);
  const error = await thrown.promise;
  assert(error instanceof WebSocketClosedError);
  assertEquals(error.code, 1000);
  await serving.stop();
  assertEquals(log.text, "");
});

Deno.test("a handler that only sends is told by the signal that the client has gone", async () => {
  const app = new App();
  const ticks = app.topic<number>("ticks");
  const ended = Promise.withResolvers<void>();
  app.websocket("/ticks", { send: v.number() }, async (socket) => {
    for await (const entry of ticks.subscribe({ from: "earliest", signal: socket.signal })) {
      if ("data" in entry) await socket.send(entry.data);
    }
    ended.resolve();
  });
  await using serving = await Serving.start(app);
  await ticks.publish(1);
  const client = await SocketClient.open(serving.origin, "/ticks");
  assertEquals(await client.next(), "1");
  await client.close();
  await ended.promise;
});

Deno.test("close() tells the client why, drops what waits to be read, and can be called again", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const message of socket) {
      assertEquals(message, "one");
      socket.close(4002, "moved");
      socket.close(4003, "ignored");
    }
    assertEquals([socket.closed?.code, socket.closed?.reason], [4002, "moved"]);
  });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const client = await SocketClient.open(serving.origin, "/");
  client.send("one");
  client.send("two");
  assertEquals(await client.closed, [4002, "moved"]);
  await serving.stop();
  assertEquals(log.text, "");
});

Deno.test("close() takes codes that may be sent, and reasons that fit", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for (const code of [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 1.5, NaN]) {
      assertThrows(() => socket.close(code), RangeError, "Cannot close the WebSocket: the code must be");
    }
    assertThrows(() => socket.close(1000, "é".repeat(62)), RangeError, "the reason must have 123 bytes at most");
    socket.close(1008, "é".repeat(61));
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  assertEquals(await client.closed, [1008, "é".repeat(61)]);
});

Deno.test("leaving the loop keeps the socket open, and another loop goes on", async () => {
  const app = new App();
  app.websocket("/", { receive: Said }, async (socket) => {
    for await (const { text } of socket) {
      assertEquals(text, "token");
      break;
    }
    for await (const { text } of socket) return await socket.send(`${text}, after the token`);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  client.send({ text: "token" });
  client.send({ text: "Hello" });
  assertEquals(await client.next(), "Hello, after the token");
  assertEquals(await client.closed, [1000, ""]);
});

Deno.test("dependencies are cleaned up, and request.after() runs, when the socket has closed and the handler has ended", async () => {
  const app = new App();
  const order: string[] = [];
  const db = dependency(async function* (request) {
    request.after(() => order.push("after, of the dependency"));
    yield "db";
    order.push("cleaned up");
  });
  const gate = Promise.withResolvers<void>();
  app.websocket("/", { deps: { db } }, async (socket, { db }) => {
    socket.request.after(() => order.push("after, of the handler"));
    for await (const _ of socket);
    order.push(`closed, with ${db}`);
    await gate.promise;
    order.push("handler ended");
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  await client.close();
  gate.resolve();
  await serving.stop();
  assertEquals(order, [
    "closed, with db",
    "handler ended",
    "after, of the dependency",
    "after, of the handler",
    "cleaned up",
  ]);
});

Deno.test("a stop closes all with 1001, waits for the handlers, and then unwinds the lifespans", async () => {
  const app = new App();
  const order: string[] = [];
  app.lifespan(async function* () {
    yield;
    order.push("lifespan");
  });
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
    await new Promise((resolve) => setTimeout(resolve, 0));
    order.push(`handler ${socket.closed?.code}`);
  });
  await using serving = await Serving.start(app);
  const clients = await Promise.all(Array.from({ length: 5 }, () => SocketClient.open(serving.origin, "/")));
  for (const client of clients) {
    client.send("Hello");
    assertEquals(await client.next(), "Hello");
  }
  await serving.stop();
  for (const client of clients) assertEquals((await client.closed)[0], 1001);
  assertEquals(order, [...Array(5).fill("handler 1001"), "lifespan"]);
});

Deno.test("app.stop() closes the sockets of a server of one's own", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, app.fetch);
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const client = await SocketClient.open(origin, "/");
  await app.stop();
  assertEquals(await client.closed, [1001, "The server stops"]);
  const again = await SocketClient.open(origin, "/");
  again.send("still served");
  assertEquals(await again.next(), "still served");
  await app.stop();
  await again.closed;
});

Deno.test("a thousand sockets are opened and closed, and nothing of them is left", async () => {
  const app = new App();
  let ended = 0;
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
    ended++;
  });
  await using serving = await Serving.start(app);
  const clients: SocketClient[] = [];
  for (let left = 1000; left > 0; left -= 100) {
    clients.push(...await Promise.all(Array.from({ length: 100 }, () => SocketClient.open(serving.origin, "/"))));
  }
  clients.forEach((client, index) => client.send(String(index)));
  assertEquals(await Promise.all(clients.map((client) => client.next())), clients.map((_, index) => String(index)));
  await Promise.all(clients.map((client) => client.close()));
  await serving.stop();
  assertEquals(ended, 1000);
});

Deno.test("pings are answered, also while the handler is busy", async () => {
  const app = new App();
  const gate = Promise.withResolvers<void>();
  app.websocket("/", async () => await gate.promise);
  await using serving = await Serving.start(app);
  using client = await RawSocket.open(serving.port, "/");
  await client.send(OPCODE.ping, "are you there?");
  const pong = await client.frame();
  assertEquals([pong?.opcode, new TextDecoder().decode(pong?.payload)], [OPCODE.pong, "are you there?"]);
  gate.resolve();
  assertEquals(await client.closeCode(), 1000);
});
