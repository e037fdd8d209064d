// Sections 7 and 9 of the contract: a message that is too large closes with 1009, and memory is
// bounded whatever the other side does: `send` waits while the client is slow.

import { App, type WebSocketClosedError } from "@webfw/core";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { RawConnection } from "./support/raw_connection.ts";
import { CapturedLog } from "./support/captured_log.ts";
import { LongDeadline } from "./support/long_deadline.ts";
import { OPCODE, RawSocket, upgradeRequest } from "./support/raw_socket.ts";
import { Serving } from "./support/serving.ts";
import { SkippedTimeout } from "./support/skipped_timeout.ts";
import { SocketClient } from "./support/socket_client.ts";
import { ticks } from "./support/ticks.ts";

/** How long a client may take to answer a close, in milliseconds. */
const HANDSHAKE_MS = 5000;

const MIB = 1024 * 1024;

Deno.test("a message above limits.message closes with 1009, counted in bytes; one of that size passes", async () => {
  const app = new App({ limits: { message: 300 } });
  app.websocket("/app", async (socket) => {
    for await (const message of socket) await socket.send(String(message.length));
  });
  app.websocket("/route", { limits: { message: 10 } }, async (socket) => {
    for await (const message of socket) await socket.send(String(message.length));
  });
  await using serving = await Serving.start(app);
  const app300 = await SocketClient.open(serving.origin, "/app");
  for (const message of ["x".repeat(300), new Uint8Array(300), "é".repeat(150), "👋".repeat(75)]) {
    app300.send(message);
    assertEquals(await app300.next(), String(message.length));
  }
  app300.send("é".repeat(150) + "x");
  assertEquals(await app300.closed, [1009, "A message may have 300 bytes"]);
  const route10 = await SocketClient.open(serving.origin, "/route");
  route10.send(new Uint8Array(11));
  assertEquals(await route10.closed, [1009, "A message may have 10 bytes"]);
});

Deno.test("the default limit is 1 MiB, whether a message comes whole or in fragments", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(String(message.length));
  });
  await using serving = await Serving.start(app);
  const whole = await SocketClient.open(serving.origin, "/");
  whole.send(new Uint8Array(MIB));
  assertEquals(await whole.next(), String(MIB));
  whole.send(new Uint8Array(MIB + 1));
  assertEquals((await whole.closed)[0], 1009);

  using fragments = await RawSocket.open(serving.port, "/");
  await fragments.send(OPCODE.binary, new Uint8Array(MIB / 2), false);
  await fragments.send(OPCODE.ping, "in between");
  await fragments.send(OPCODE.continuation, new Uint8Array(MIB / 2));
  assertEquals((await fragments.frame())?.opcode, OPCODE.pong);
  assertEquals(new TextDecoder().decode((await fragments.frame())?.payload), String(MIB));
  await fragments.send(OPCODE.binary, new Uint8Array(MIB), false);
  await fragments.send(OPCODE.continuation, new Uint8Array(1));
  assertEquals(await fragments.closeCode(), 1009);
});

Deno.test("a handler that does not read keeps as much as one of the largest messages; beyond it the client is closed", async () => {
  const app = new App({ limits: { message: 100_000 } });
  const gate = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<WebSocketClosedError | null>();
  const read = Promise.withResolvers<number>();
  app.websocket("/", async (socket) => {
    socket.signal.addEventListener("abort", () => closed.resolve(socket.closed));
    await gate.promise;
    read.resolve((await Array.fromAsync(socket)).length);
  });
  await using serving = await Serving.start(app);
  await using client = await SocketClient.open(serving.origin, "/");
  for (let sent = 0; sent < 200; sent++) client.send(new Uint8Array(1000));
  assertEquals((await closed.promise)?.code, 1008);
  assertEquals(await client.closed, [1008, "Messages come faster than they are read"]);
  gate.resolve();
  assertEquals(await read.promise, 0);
});

Deno.test("messages that come in a burst wait for a handler that reads them", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    let sum = 0;
    for await (const message of socket) {
      await ticks(1);
      sum += Number(message);
      if (message === "200") break;
    }
    await socket.send(String(sum));
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  for (let number = 1; number <= 200; number++) client.send(String(number));
  assertEquals(await client.next(), "20100");
  await client.closed;
});

Deno.test("send() waits for a client that does not read, and continues when it does", async () => {
  const app = new App();
  let sent = 0;
  app.websocket("/", async (socket) => {
    const message = new Uint8Array(64 * 1024);
    for (; sent < 1000; sent++) await socket.send(message);
  });
  await using serving = await Serving.start(app);
  using client = await RawSocket.open(serving.port, "/");
  for (let before = -1; before !== sent;) {
    before = sent;
    await ticks(100);
  }
  assert(sent < 500, `${sent} messages went to a client that read none`);
  let bytes = 0;
  for (let frame = await client.frame(); frame && frame.opcode !== OPCODE.close; frame = await client.frame()) {
    bytes += frame.payload.length;
  }
  assertEquals([sent, bytes], [1000, 1000 * 64 * 1024]);
});

Deno.test("a program that does not wait has no more than 8 MiB kept for a client; then it is closed with 1008", async () => {
  const app = new App();
  const result = Promise.withResolvers<unknown[]>();
  app.websocket("/", async (socket) => {
    let kept = 0;
    while (!socket.closed) {
      void socket.send("x".repeat(1000));
      kept++;
    }
    const error = await assertRejects(() => socket.send("more"));
    result.resolve([kept, socket.closed.code, socket.closed.reason, error === socket.closed]);
  });
  await using serving = await Serving.start(app);
  using _client = await RawSocket.open(serving.port, "/");
  const [kept, ...end] = await result.promise;
  assertEquals(end, [1008, "Messages are not read", true]);
  assert(typeof kept === "number" && kept > 4000 && kept <= 8 * MIB / 1000, `${kept} messages were kept`);
});

Deno.test("a client that reads nothing for the idleTimeout is closed, and waiting send() calls throw", async () => {
  const app = new App();
  const result = Promise.withResolvers<unknown[]>();
  app.websocket("/", { idleTimeout: 200 }, async (socket) => {
    const message = new Uint8Array(256 * 1024);
    try {
      for (;;) await socket.send(message);
    } catch (error) {
      result.resolve([error === socket.closed, socket.closed?.code]);
    }
  });
  // A busy machine may take longer to open it.
  using _deadline = new LongDeadline(HANDSHAKE_MS);
  await using serving = await Serving.start(app);
  using _client = await RawSocket.open(serving.port, "/");
  const [isThrown, code] = await result.promise;
  assert(isThrown);
  // It does not answer the pings either, and a busy machine may notice that first.
  assert(code === 1008 || code === 1006, String(code));
});

/**
 * Answers the first ping of a socket and no other. Gives whether that was in time, what came then,
 * and how the socket was closed.
 */
async function answerOnce(idleTimeout: number): Promise<{ inTime: boolean; then?: number; code?: number }> {
  const app = new App();
  const closed = Promise.withResolvers<number | undefined>();
  app.websocket("/", { idleTimeout }, async (socket) => {
    for await (const _ of socket);
    closed.resolve(socket.closed?.code);
  });
  await using serving = await Serving.start(app);
  const begin = performance.now();
  using client = await RawSocket.open(serving.port, "/");
  assertEquals((await client.frame())?.opcode, OPCODE.ping);
  await client.send(OPCODE.pong);
  if (performance.now() - begin > 0.9 * idleTimeout) return { inTime: false };
  const then = (await client.frame())?.opcode;
  const code = await closed.promise;
  return { inTime: true, ...then !== undefined && { then }, ...code !== undefined && { code } };
}

Deno.test("a client that is silent is pinged after half of the idleTimeout; one that does not answer is dropped", async () => {
  using _deadline = new LongDeadline(HANDSHAKE_MS);
  let idleTimeout = 2_000;
  let answered = await answerOnce(idleTimeout);
  // A busy machine answers late.
  while (!answered.inTime) answered = await answerOnce(idleTimeout *= 2);
  assertEquals(answered, { inTime: true, then: OPCODE.ping, code: 1006 });
});

Deno.test("frames that break the protocol end the connection, and the handler with it", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  await using serving = await Serving.start(app);
  for (
    const [opcode, payload] of [[3, ""], [OPCODE.text, new Uint8Array([0xff, 0xfe])], [
      OPCODE.continuation,
      "",
    ]] as const
  ) {
    using client = await RawSocket.open(serving.port, "/");
    await client.send(opcode, payload);
    await client.closeCode();
  }
  await serving.stop();
});

Deno.test("a client that does not answer a close does not delay the cleanup", async () => {
  const app = new App();
  const opened = Promise.withResolvers<void>();
  const after = Promise.withResolvers<void>();
  app.websocket("/", async (socket) => {
    socket.request.after(() => after.resolve());
    await opened.promise;
  });
  await using serving = await Serving.start(app);
  using client = await RawSocket.open(serving.port, "/");
  using _soon = new SkippedTimeout(HANDSHAKE_MS);
  opened.resolve();
  assertEquals(await client.closeCode(), 1000);
  await after.promise;
});

Deno.test("a client that disconnects before the upgrade leaks nothing, and the handler is not called", async () => {
  const app = new App();
  const arrived = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const after = Promise.withResolvers<void>();
  app.middleware(async (request, next) => {
    arrived.resolve();
    await gone.promise;
    const response = await next(request);
    request.after(() => after.resolve(), { always: true });
    return response;
  });
  let calls = 0;
  app.websocket("/", async () => {
    calls++;
  });
  // Deno's server would wait for the upgrade when it shuts down.
  using log = new CapturedLog();
  await using serving = await Serving.start(app, { gracePeriod: 1 });
  using connection = await RawConnection.open(serving.port);
  await connection.write(upgradeRequest("/"));
  await arrived.promise;
  connection.close();
  await ticks(20);
  using _soon = new SkippedTimeout(HANDSHAKE_MS);
  gone.resolve();
  await after.promise;
  await serving.stop();
  assertEquals(calls, 0);
  assert(!log.text.includes("ERROR"), log.text);
});
