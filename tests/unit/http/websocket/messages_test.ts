import { assertEquals } from "@std/assert";
import { Inbox, type MessageData } from "../../../../src/http/websocket/messages.ts";

async function drain(inbox: Inbox): Promise<MessageData[]> {
  const messages: MessageData[] = [];
  for (let message = await inbox.take(); message !== undefined; message = await inbox.take()) messages.push(message);
  return messages;
}

Deno.test("messages are taken in their order, by those who asked first", async () => {
  const inbox = new Inbox(10_000);
  const early = [inbox.take(), inbox.take()];
  for (const message of ["one", "two", "three", ""]) inbox.add(message);
  inbox.end();
  assertEquals(await Promise.all(early), ["one", "two"]);
  assertEquals(await drain(inbox), ["three", ""]);
  assertEquals(await inbox.take(), undefined);
});

Deno.test("it refuses what is more than it holds, and has room again when something was taken", async () => {
  const inbox = new Inbox(1000);
  assertEquals(inbox.add(new Uint8Array(500)), true);
  assertEquals(inbox.add(new Uint8Array(500)), false);
  await inbox.take();
  assertEquals(inbox.add(new Uint8Array(500)), true);
});

Deno.test("a single message may be larger than it; empty ones are not for nothing", () => {
  assertEquals(new Inbox(1000).add(new Uint8Array(5000)), true);
  const inbox = new Inbox(1000);
  let added = 0;
  while (inbox.add("")) added++;
  assertEquals(added, 3);
});

Deno.test("a message that somebody waits for takes no room", async () => {
  const inbox = new Inbox(0);
  for (let count = 0; count < 10; count++) {
    const taken = inbox.take();
    assertEquals(inbox.add("x".repeat(1000)), true);
    assertEquals((await taken)?.length, 1000);
  }
});

Deno.test("after the end what waits can be read, unless it is cleared; what comes then is dropped", async () => {
  const ended = new Inbox(1000);
  ended.add("one");
  ended.end();
  assertEquals(ended.add("two"), true);
  assertEquals(await drain(ended), ["one"]);
  const cleared = new Inbox(1000);
  cleared.add("one");
  cleared.clear();
  assertEquals(await drain(cleared), []);
});

Deno.test("the end tells those who wait", async () => {
  const inbox = new Inbox(1000);
  const waiting = [inbox.take(), inbox.take()];
  inbox.end();
  assertEquals(await Promise.all(waiting), [undefined, undefined]);
});
