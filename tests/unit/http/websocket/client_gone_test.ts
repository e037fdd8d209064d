import { setImmediate } from "node:timers";
import { assertEquals } from "@std/assert";
import { hasGone, pauseBeforeUpgrade, type WebSocketTransport } from "../../../../src/http/websocket/transport.ts";
import { OpenWebSockets } from "../../../../src/routing/websocket_route.ts";

Deno.test("An upgrade does not pause while at most 16 sockets are unopened", () => {
  assertEquals([pauseBeforeUpgrade(0, 1), pauseBeforeUpgrade(16, 1)], [0, 0]);
});

Deno.test("Each further socket adds up to a millisecond, by chance, until the pause is 16 ms", () => {
  assertEquals([pauseBeforeUpgrade(20, 0.1), pauseBeforeUpgrade(20, 1)], [1, 4]);
  assertEquals(pauseBeforeUpgrade(10_000, 1), 16);
});

/** A request whose client has gone during the pause, as the platform reports it. */
function goneRequest(calls: string[]): Request {
  const request = new Request("http://localhost/");
  const controller = new AbortController();
  Object.defineProperty(request, "signal", {
    get: () => {
      calls.push("signal");
      queueMicrotask(() => controller.abort());
      return controller.signal;
    },
  });
  return request;
}

Deno.test("A check without pressure does not pause, and reads the signal once", async () => {
  const calls: string[] = [];
  const pause = () => Promise.resolve(void calls.push("pause"));
  assertEquals(await hasGone(goneRequest(calls), 0, pause), true);
  assertEquals(await hasGone(new Request("http://localhost/"), 0, pause), false);
  assertEquals(calls, ["signal"]);
});

Deno.test("A check under pressure reads the signal after one pause", async () => {
  const calls: string[] = [];
  const pause = () => Promise.resolve(void calls.push("pause"));
  assertEquals(await hasGone(goneRequest(calls), 17, pause), true);
  assertEquals(calls, ["pause", "signal"]);
});

/** A transport as far as the count needs it, and the functions that move it on. */
function makeTransport(isLost: boolean) {
  const opened = Promise.withResolvers<boolean>();
  const gone = Promise.withResolvers<void>();
  const transport = { opened: opened.promise, gone: gone.promise, isLost, isBroken: true };
  return { transport, opened, gone };
}

Deno.test("A socket counts as unopened until it opens or fails, and for ever if it does neither", async () => {
  const sockets = new OpenWebSockets();
  const [opening, failing, lost] = [makeTransport(false), makeTransport(false), makeTransport(true)];
  for (const { transport } of [opening, failing, lost]) sockets.add(transport as unknown as WebSocketTransport);
  assertEquals(sockets.unopened, 3);
  opening.opened.resolve(true);
  await opening.transport.opened;
  await Promise.resolve();
  assertEquals(sockets.unopened, 2);
  for (const { opened, gone } of [failing, lost]) {
    opened.resolve(false);
    gone.resolve();
  }
  await new Promise((resolve) => setImmediate(resolve));
  assertEquals(sockets.unopened, 1);
});
