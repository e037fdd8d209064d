import { assert, assertEquals, assertRejects } from "@std/assert";
import { SendQueue, WebSocketTransport } from "../../../../src/http/websocket/transport.ts";
import { FakeTime } from "../../support/fake_time.ts";
import { ticks } from "../../../spec/support/ticks.ts";

const KIB = 1024;

/** A socket that buffers messages until the test takes them. */
class BufferingSocket {
  readyState: number = WebSocket.OPEN;
  readonly messages: string[] = [];
  #buffered = 0;
  #polls = 0;

  get bufferedAmount(): number {
    this.#polls++;
    return this.#buffered;
  }

  send(message: string): void {
    if (this.readyState !== WebSocket.OPEN) return;
    this.messages.push(message);
    this.#buffered += message.length;
  }

  take(bytes = Infinity): void {
    this.#buffered = Math.max(0, this.#buffered - bytes);
  }

  /** Waits for the next poll. */
  async polled(): Promise<void> {
    for (const before = this.#polls; before === this.#polls;) await ticks(1);
  }
}

/** Time that passes when the test says so. */
class Clock implements Disposable {
  now = 0;
  readonly #original = performance.now;

  constructor() {
    performance.now = () => this.now;
  }

  [Symbol.dispose](): void {
    performance.now = this.#original;
  }
}

/** A queue over such a socket. */
function sendQueue(stallTimeoutMs = 60_000): { queue: SendQueue; socket: BufferingSocket; stalls: () => number } {
  const socket = new BufferingSocket();
  let stalls = 0;
  const queue = new SendQueue(socket as unknown as WebSocket, stallTimeoutMs, () => stalls++);
  return { queue, socket, stalls: () => stalls };
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => settled = true, () => settled = true);
  await ticks(20);
  return settled;
}

Deno.test("a sender does not wait while little is buffered, however often it sends", async () => {
  const { queue, socket } = sendQueue();
  for (let count = 0; count < 10_000; count++) {
    await queue.send("x".repeat(100));
    socket.take();
    assertEquals(queue.isFull, false);
  }
  assertEquals(socket.messages.length, 10_000);
});

Deno.test("a sender of a closing socket whose close frame the client does not take waits for the timeout at most", async () => {
  using time = new FakeTime();
  const { queue, socket, stalls } = sendQueue(200);
  socket.readyState = WebSocket.CLOSING;
  const waiting = queue.send("x");
  await time.advance(200);
  assertEquals(stalls(), 1);
  queue.end(new Error("closed"));
  await assertRejects(() => waiting, Error, "closed");
  assertEquals(time.untilNext, undefined);
});

Deno.test("a sender waits while the socket is closing, so that its event can come: it takes no message any more", async () => {
  const { queue, socket } = sendQueue();
  await queue.send("x");
  socket.take();
  socket.readyState = WebSocket.CLOSING;
  const waiting = [queue.send("y"), queue.send("z")];
  assertEquals(await Promise.all(waiting.map(isSettled)), [false, false]);
  queue.end(new Error("closed"));
  for (const each of waiting) await assertRejects(() => each, Error, "closed");
  assertEquals(socket.messages, ["x"]);
});

Deno.test("all senders wait while more than 128 KiB are buffered, and go on when nothing is", async () => {
  const { queue, socket } = sendQueue();
  assertEquals(await isSettled(queue.send("x".repeat(100 * KIB))), true);
  const waiting = [queue.send("x".repeat(100 * KIB)), queue.send("x")];
  assertEquals(await Promise.all(waiting.map(isSettled)), [false, false]);
  socket.take(150 * KIB);
  assertEquals(await Promise.all(waiting.map(isSettled)), [false, false]);
  socket.take();
  await Promise.all(waiting);
  assertEquals(await isSettled(queue.send("x")), true);
});

Deno.test("small messages count with the platform's overhead for each", async () => {
  const { queue, socket } = sendQueue();
  let sent = 0;
  let last: Promise<void>;
  do {
    last = queue.send("x");
    sent++;
  } while (
    await Promise.race([
      last.then(() => true),
      Promise.resolve().then(() => Promise.resolve()).then(() => false),
    ])
  );
  assert(sent > 100 && sent < 150, `${sent} messages of a byte went before the sender waited`);
  socket.take();
  await last;
});

Deno.test("it is full when more than 8 MiB are buffered, and not when they have been taken", async () => {
  const { queue, socket } = sendQueue();
  while (!queue.isFull) void queue.send("x".repeat(64 * KIB));
  assert(socket.bufferedAmount > 7 * KIB * KIB && socket.bufferedAmount <= 8 * KIB * KIB, `${socket.bufferedAmount}`);
  socket.take();
  assertEquals(queue.isFull, false);
  await ticks(50);
});

Deno.test("a client that takes nothing for the whole time has stalled; one that takes a little has not", async () => {
  using clock = new Clock();
  const { queue, socket, stalls } = sendQueue(1000);
  const waiting = queue.send("x".repeat(200 * KIB));
  for (let taken = 0; taken < 10; taken++) {
    clock.now += 900;
    socket.take(KIB);
    await socket.polled();
  }
  clock.now += 1000;
  await socket.polled();
  assertEquals(stalls(), 0);
  clock.now += 1;
  await socket.polled();
  assertEquals(stalls(), 1);
  queue.end(new Error("It stalled"));
  await assertRejects(() => waiting, Error, "It stalled");
});

Deno.test("a large message has more time to go, since progress within it is not visible", async () => {
  using clock = new Clock();
  const { queue, socket, stalls } = sendQueue(1000);
  const waiting = queue.send("x".repeat(4 * KIB * KIB));
  clock.now += 4000;
  await socket.polled();
  assertEquals(stalls(), 0);
  clock.now += 1;
  await socket.polled();
  assertEquals(stalls(), 1);
  queue.end(new Error("It stalled"));
  await assertRejects(() => waiting);
});

Deno.test("the end rejects those who wait, and nothing is left running", async () => {
  const { queue } = sendQueue();
  const waiting = [queue.send("x".repeat(200 * KIB)), queue.send("x")];
  queue.end(new Error("Gone"));
  for (const each of waiting) await assertRejects(() => each, Error, "Gone");
});

/** A socket that opens when the test says so. */
class OpeningSocket {
  readyState: number = WebSocket.CONNECTING;
  readonly bufferedAmount = 0;
  readonly closes: [code: number, reason: string][] = [];
  onopen: (() => void) | null = null;

  open(): void {
    this.readyState = WebSocket.OPEN;
    this.onopen!();
  }

  close(code: number, reason: string): void {
    this.closes.push([code, reason]);
  }
}

Deno.test("a client whose socket opens after the close gets the code and the reason", () => {
  const socket = new OpeningSocket();
  const transport = new WebSocketTransport(socket as unknown as WebSocket, KIB, 60_000);
  transport.close(1008, "The sign-in has ended");
  socket.open();
  assertEquals(socket.closes, [[1008, "The sign-in has ended"]]);
});

Deno.test("a socket that opens after its handshake was given up is closed with 1001", async () => {
  const socket = new OpeningSocket();
  using time = new FakeTime();
  new WebSocketTransport(socket as unknown as WebSocket, KIB, 60_000);
  await time.advance(60_000);
  socket.open();
  assertEquals(socket.closes.map(([code]) => code), [1001]);
});
