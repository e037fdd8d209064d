// `shift()` of an array with more than some ten thousand elements moves all of them.

import { assertEquals } from "@std/assert";
import { CallSignal } from "../../../src/client/call_signal.ts";
import { Socket } from "../../../src/client/websocket.ts";
import { ReceiveQueue } from "../../../src/http/websocket/messages.ts";

const MESSAGES = 20_000;

/** The length of the longest array whose first element is removed meanwhile. */
async function longestShift(action: () => Promise<void>): Promise<number> {
  const { shift } = Array.prototype;
  let longest = 0;
  Array.prototype.shift = function <Element>(this: Element[]): Element | undefined {
    longest = Math.max(longest, this.length);
    return shift.call(this) as Element | undefined;
  };
  try {
    await action();
  } finally {
    Array.prototype.shift = shift;
  }
  return longest;
}

const numbers = Array.from({ length: MESSAGES }, (_, index) => `${index}`);

Deno.test("messages of a WebSocket that wait for the handler are taken without moving the others", async () => {
  const queue = new ReceiveQueue(64 * 1024 * 1024);
  const taken: unknown[] = [];
  const longest = await longestShift(async () => {
    // Some come while others are taken.
    for (const number of numbers.slice(0, MESSAGES / 2)) queue.add(number);
    for (let count = 0; count < 10; count++) taken.push(await queue.take());
    for (const number of numbers.slice(MESSAGES / 2)) queue.add(number);
    queue.end();
    for (let message = await queue.take(); message !== undefined; message = await queue.take()) taken.push(message);
  });
  assertEquals([longest < 100, taken], [true, numbers]);
});

Deno.test("messages that wait for a client's program are taken without moving the others", async () => {
  const platform = Object.assign(new EventTarget(), { readyState: WebSocket.OPEN, bufferedAmount: 0 });
  const socket = new Socket(platform as unknown as WebSocket, new CallSignal([], undefined));
  const taken: unknown[] = [];
  const longest = await longestShift(async () => {
    for (const data of numbers) platform.dispatchEvent(new MessageEvent("message", { data }));
    for await (const message of socket) {
      taken.push(message);
      if (taken.length === 10) platform.dispatchEvent(new MessageEvent("message", { data: "last" }));
      if (taken.length === MESSAGES + 1) break;
    }
  });
  platform.dispatchEvent(new CloseEvent("close", { code: 1000, wasClean: true }));
  assertEquals([longest < 100, taken], [true, [...numbers, "last"]]);
});
