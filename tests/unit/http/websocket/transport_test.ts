import { assert, assertEquals, assertRejects } from "@std/assert";
import { SendQueue } from "../../../../src/http/websocket/transport.ts";
import { ticks } from "../../../spec/support/ticks.ts";

const KIB = 1024;

/** A socket that keeps what it is given until it is told that the client has taken it. */
class KeepingSocket {
  readonly messages: string[] = [];
  #kept = 0;
  #looks = 0;

  get bufferedAmount(): number {
    this.#looks++;
    return this.#kept;
  }

  send(message: string): void {
    this.messages.push(message);
    this.#kept += message.length;
  }

  take(bytes = Infinity): void {
    this.#kept = Math.max(0, this.#kept - bytes);
  }

  /** Waits until it has been looked at again. */
  async looked(): Promise<void> {
    for (const before = this.#looks; before === this.#looks;) await ticks(1);
  }
}

/** Stands in for the time that passes. */
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

/** An queue over such a socket. */
function queue(patienceMs = 60_000): { box: SendQueue; socket: KeepingSocket; stalls: () => number } {
  const socket = new KeepingSocket();
  let stalls = 0;
  const box = new SendQueue(socket as unknown as WebSocket, patienceMs, () => stalls++);
  return { box, socket, stalls: () => stalls };
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => settled = true, () => settled = true);
  await ticks(20);
  return settled;
}

Deno.test("a sender does not wait while little is kept, however often it sends", async () => {
  const { box, socket } = queue();
  for (let count = 0; count < 10_000; count++) {
    await box.send("x".repeat(100));
    socket.take();
    assertEquals(box.isFull, false);
  }
  assertEquals(socket.messages.length, 10_000);
});

Deno.test("all senders wait while more than 128 KiB are kept, and go on when nothing is", async () => {
  const { box, socket } = queue();
  assertEquals(await isSettled(box.send("x".repeat(100 * KIB))), true);
  const waiting = [box.send("x".repeat(100 * KIB)), box.send("x")];
  assertEquals(await Promise.all(waiting.map(isSettled)), [false, false]);
  socket.take(150 * KIB);
  assertEquals(await Promise.all(waiting.map(isSettled)), [false, false]);
  socket.take();
  await Promise.all(waiting);
  assertEquals(await isSettled(box.send("x")), true);
});

Deno.test("small messages count with what the platform needs for each of them", async () => {
  const { box, socket } = queue();
  let sent = 0;
  let last: Promise<void>;
  do {
    last = box.send("x");
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

Deno.test("it is full when more than 8 MiB are kept, and not when they have been taken", async () => {
  const { box, socket } = queue();
  while (!box.isFull) void box.send("x".repeat(64 * KIB));
  assert(socket.bufferedAmount > 7 * KIB * KIB && socket.bufferedAmount <= 8 * KIB * KIB, `${socket.bufferedAmount}`);
  socket.take();
  assertEquals(box.isFull, false);
  await ticks(50);
});

Deno.test("a client that takes nothing for the whole time has stalled; one that takes a little has not", async () => {
  using clock = new Clock();
  const { box, socket, stalls } = queue(1000);
  const waiting = box.send("x".repeat(200 * KIB));
  for (let taken = 0; taken < 10; taken++) {
    clock.now += 900;
    socket.take(KIB);
    await socket.looked();
  }
  clock.now += 1000;
  await socket.looked();
  assertEquals(stalls(), 0);
  clock.now += 1;
  await socket.looked();
  assertEquals(stalls(), 1);
  box.end(new Error("It stalled"));
  await assertRejects(() => waiting, Error, "It stalled");
});

Deno.test("a large message has as much more time to go, since its parts cannot be seen", async () => {
  using clock = new Clock();
  const { box, socket, stalls } = queue(1000);
  const waiting = box.send("x".repeat(4 * KIB * KIB));
  clock.now += 4000;
  await socket.looked();
  assertEquals(stalls(), 0);
  clock.now += 1;
  await socket.looked();
  assertEquals(stalls(), 1);
  box.end(new Error("It stalled"));
  await assertRejects(() => waiting);
});

Deno.test("the end rejects those who wait, and nothing is left running", async () => {
  const { box } = queue();
  const waiting = [box.send("x".repeat(200 * KIB)), box.send("x")];
  box.end(new Error("Gone"));
  for (const each of waiting) await assertRejects(() => each, Error, "Gone");
});
