import { assertEquals } from "@std/assert";
import { type MessageData, ReceiveQueue } from "../../../../src/http/websocket/messages.ts";

async function drain(queue: ReceiveQueue): Promise<MessageData[]> {
  const messages: MessageData[] = [];
  for (let message = await queue.take(); message !== undefined; message = await queue.take()) messages.push(message);
  return messages;
}

Deno.test("messages are taken in their order, by those who asked first", async () => {
  const queue = new ReceiveQueue(10_000);
  const early = [queue.take(), queue.take()];
  for (const message of ["one", "two", "three", ""]) queue.add(message);
  queue.end();
  assertEquals(await Promise.all(early), ["one", "two"]);
  assertEquals(await drain(queue), ["three", ""]);
  assertEquals(await queue.take(), undefined);
});

Deno.test("it refuses messages beyond its limit, and has room again after a read", async () => {
  const queue = new ReceiveQueue(1000);
  assertEquals(queue.add(new Uint8Array(500)), true);
  assertEquals(queue.add(new Uint8Array(500)), false);
  await queue.take();
  assertEquals(queue.add(new Uint8Array(500)), true);
});

Deno.test("a single message may be larger than it; empty ones are not for nothing", () => {
  assertEquals(new ReceiveQueue(1000).add(new Uint8Array(5000)), true);
  const queue = new ReceiveQueue(1000);
  let added = 0;
  while (queue.add("")) added++;
  assertEquals(added, 3);
});

Deno.test("a message that a reader waits for takes no room", async () => {
  const queue = new ReceiveQueue(0);
  for (let count = 0; count < 10; count++) {
    const taken = queue.take();
    assertEquals(queue.add("x".repeat(1000)), true);
    assertEquals((await taken)?.length, 1000);
  }
});

Deno.test("after the end, waiting messages can be read unless they are cleared; later ones are dropped", async () => {
  const ended = new ReceiveQueue(1000);
  ended.add("one");
  ended.end();
  assertEquals(ended.add("two"), true);
  assertEquals(await drain(ended), ["one"]);
  const cleared = new ReceiveQueue(1000);
  cleared.add("one");
  cleared.clear();
  assertEquals(await drain(cleared), []);
});

Deno.test("the end wakes waiting readers", async () => {
  const queue = new ReceiveQueue(1000);
  const waiting = [queue.take(), queue.take()];
  queue.end();
  assertEquals(await Promise.all(waiting), [undefined, undefined]);
});
