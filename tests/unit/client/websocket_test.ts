// What a WebSocket keeps and waits for, with a platform and a clock that the tests play.

import { assertEquals, assertRejects } from "@std/assert";
import { Sender } from "../../../src/client/sender.ts";
import { connect, type Socket } from "../../../src/client/websocket.ts";
import { FakeTime } from "../support/fake_time.ts";

/** How much the platform may keep before senders wait, in bytes. */
const HIGH_WATER = 1024 * 1024;

/** A socket of the platform. A test says how much it keeps. */
class PlayedSocket extends EventTarget {
  binaryType = "blob";
  readyState: number = WebSocket.OPEN;
  bufferedAmount = 0;
  readonly sent: unknown[] = [];

  send(data: unknown): void {
    this.sent.push(data);
  }

  close(code: number, reason: string): void {
    this.dispatchEvent(new CloseEvent("close", { code, reason, wasClean: true }));
  }
}

async function open(): Promise<[platform: PlayedSocket, socket: Socket]> {
  const platform = new PlayedSocket();
  const openSocket = () => {
    queueMicrotask(() => platform.dispatchEvent(new Event("open")));
    return platform as unknown as WebSocket;
  };
  const socket = await connect(new Sender("http://localhost", {}), openSocket, "/talk") as Socket;
  return [platform, socket];
}

Deno.test("`send(message)` waits while more than 1 MiB is queued, and goes on when it has gone", async () => {
  using time = new FakeTime();
  const [platform, socket] = await open();
  platform.bufferedAmount = HIGH_WATER;
  await socket.send(1);
  platform.bufferedAmount = HIGH_WATER + 1;
  let isSent = false;
  const sent = socket.send({ n: 2n }).then(() => isSent = true);
  await time.advance(100);
  assertEquals([platform.sent, isSent], [["1", '{"n":"2"}'], false]);
  platform.bufferedAmount = HIGH_WATER;
  await time.advance(10);
  assertEquals(await sent, true);
  assertEquals(time.untilNext, undefined, "no timer is left");
  await socket.close();
});

Deno.test("`send(message)` that waits is refused when the socket is closed, and leaves no timer", async () => {
  using time = new FakeTime();
  const [platform, socket] = await open();
  platform.bufferedAmount = HIGH_WATER + 1;
  const sent = assertRejects(() => socket.send(1), Error, 'The WebSocket is closed: 1011 "full"');
  await time.settle();
  platform.close(1011, "full");
  await sent;
  assertEquals(time.untilNext, undefined);
});

Deno.test("`send(message)` waits while the platform is closing, which drops messages, until its event comes", async () => {
  using time = new FakeTime();
  const [platform, socket] = await open();
  platform.readyState = WebSocket.CLOSING;
  let count = 0;
  const sending = (async () => {
    for (; count < 1_000; count++) await socket.send(count);
  })().catch((error) => error.message);
  await time.advance(20);
  assertEquals(count, 0);
  platform.close(4001, "bye");
  assertEquals(await sending, 'The WebSocket is closed: 4001 "bye"');
});

Deno.test("a program that does not read has 16 MiB kept for it, then the socket is closed with 4008", async () => {
  const [platform, socket] = await open();
  const data = JSON.stringify("x".repeat(4_000_000));
  for (let count = 0; count < 5; count++) platform.dispatchEvent(new MessageEvent("message", { data }));
  const closed = 'The WebSocket is closed: 4008 "Messages come faster than they are read"';
  assertEquals(socket.closed?.message, closed);
  const seen: unknown[] = [];
  await assertRejects(
    async () => {
      for await (const message of socket) seen.push(message);
    },
    Error,
    closed,
  );
  // A character may take two bytes.
  assertEquals(seen.length, 3);
});
