// What a WebSocket keeps and waits for, with a platform and a clock that the tests play.

import { assertEquals, assertRejects } from "@std/assert";
import { CallSignal } from "../../../src/client/call_signal.ts";
import { Socket } from "../../../src/client/socket.ts";
import { FakeTime } from "./support/fake_time.ts";

/** How much the platform may keep before senders wait, in bytes. */
const HIGH_WATER = 1024 * 1024;

/** A socket of the platform. A test says how much it keeps. */
class PlayedSocket extends EventTarget {
  binaryType = "blob";
  bufferedAmount = 0;
  readonly sent: unknown[] = [];

  send(data: unknown): void {
    this.sent.push(data);
  }

  close(code: number, reason: string): void {
    this.dispatchEvent(new CloseEvent("close", { code, reason, wasClean: true }));
  }
}

function open(): [platform: PlayedSocket, socket: Socket] {
  const platform = new PlayedSocket();
  const socket = new Socket(platform as unknown as WebSocket, new CallSignal([], undefined));
  platform.dispatchEvent(new Event("open"));
  return [platform, socket];
}

Deno.test("`send(message)` waits while more than 1 MiB is queued, and goes on when it has gone", async () => {
  using time = new FakeTime();
  const [platform, socket] = open();
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
  const [platform, socket] = open();
  platform.bufferedAmount = HIGH_WATER + 1;
  const sent = assertRejects(() => socket.send(1), Error, 'The WebSocket is closed: 1011 "full"');
  await time.settle();
  platform.close(1011, "full");
  await sent;
  assertEquals(time.untilNext, undefined);
});
