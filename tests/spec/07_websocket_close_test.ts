// Section 7 of the contract: how a WebSocket ends. A message that fails its schema closes with
// 1007, shutdown 1001, handler failure 1011; a handler that returns, 1000.

import { App, WebSocketClosedError } from "@webfw/core";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { OPCODE, RawSocket } from "./support/raw_socket.ts";
import { Serving } from "./support/serving.ts";
import { SocketClient } from "./support/socket_client.ts";
import { ticks } from "./support/ticks.ts";

const Said = v.object({ text: v.string() });

Deno.test("a handler that returns closes with 1000, after all its messages", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for (let number = 0; number < 500; number++) void socket.send(String(number));
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  for (let number = 0; number < 500; number++) assertEquals(await client.next(), String(number));
  assertEquals(await client.closed, [1000, ""]);
});

Deno.test("a handler that fails, or returns an error, closes with 1011: the cause is logged, and not sent", async () => {
  const app = new App();
  app.websocket("/rooms/{id}", async () => {
    throw new Error("The password is secret");
  });
  app.websocket("/halls/{id}", async () => new Error("The password is secret") as never);
  await using serving = await Serving.start(app);
  for (const place of ["rooms", "halls"]) {
    using log = new CapturedLog();
    const client = await SocketClient.open(serving.origin, `/${place}/1`);
    assertEquals(await client.closed, [1011, ""]);
    assertEquals(log.lines.length, 1);
    assertMatch(log.text, new RegExp(`A WebSocket failed route=.*/${place}/\\{id\\}.*The password is secret`));
  }
});

const MISFITS: readonly (readonly [sent: unknown, code: number, reason: string])[] = [
  ["{", 1007, "A message must be well-formed JSON"],
  ["", 1007, "A message must be well-formed JSON"],
  [{ text: 7 }, 1007, "text: Invalid type: expected string"],
  [{}, 1007, "text: Missing value"],
  [[], 1007, "Invalid type: expected Object"],
  ['{"text":"a","deep":[1,-1e999]}', 1007, "deep.1: Invalid number: too large"],
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

Deno.test("send() to a disconnected client throws, which ends a handler as if it had returned", async () => {
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

Deno.test("a handler that sends without end learns that the client has closed", async () => {
  const app = new App();
  let ended = 0;
  const all = Promise.withResolvers<void>();
  app.websocket("/", async (socket) => {
    try {
      for (;;) await socket.send("x");
    } finally {
      if (++ended === 10) all.resolve();
    }
  });
  await using serving = await Serving.start(app);
  for (let count = 0; count < 10; count++) {
    const socket = new WebSocket(serving.origin.replace("http", "ws"));
    socket.onmessage = () => socket.close();
    await new Promise((resolve) => socket.onclose = resolve);
  }
  await all.promise;
});

Deno.test("the signal tells a handler that only sends that the client has disconnected", async () => {
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

Deno.test("close() sends the reason, drops unread messages, and can be called again", async () => {
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

Deno.test("a client that still sends when the socket is closed gets the reason", async () => {
  const app = new App();
  const refused = Promise.withResolvers<void>();
  app.websocket("/", { receive: Said }, async (socket) => {
    for await (const _ of socket);
    refused.resolve();
  });
  await using serving = await Serving.start(app);
  using client = await RawSocket.open(serving.port, "/");
  await client.send(OPCODE.text, JSON.stringify({ text: 7 }));
  await refused.promise;
  for (let round = 0; round < 10; round++) {
    // So long a message may be on its way.
    for (let turn = 0; turn < round; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    await client.send(OPCODE.text, JSON.stringify({ text: "Anybody?" }));
  }
  assertEquals(await client.closeCode(), 1007);
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

Deno.test("a stop closes all with 1001, waits for the handlers, and then unwinds the lifespans", async () => {
  const app = new App();
  const order: string[] = [];
  app.lifespan(async function* () {
    yield;
    order.push("lifespan");
  });
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
    await ticks(1);
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

Deno.test("app.stop() closes the sockets of a custom server", async () => {
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
