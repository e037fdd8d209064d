// Who waits for an answer of a database, and for how long.

import { assertEquals, assertRejects } from "@std/assert";
import { Attempts } from "../../../../src/topics/kv/attempts.ts";

/** Longer than any test. */
const LONG = 600_000;

function never(): Promise<never> {
  return new Promise(() => {});
}

/** Something to do, as what a database was asked would be: waiting for it keeps no process alive by itself. */
function stayAlive(): Disposable {
  const timer = setInterval(() => {}, LONG);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

Deno.test("An answer that comes in time is given, whatever it is", async () => {
  const attempts = new Attempts(LONG);
  const onLate = () => {};
  assertEquals(await attempts.wait(Promise.resolve(1), onLate, undefined), 1);
  await assertRejects(() => attempts.wait(Promise.reject(new Error("Refused")), onLate, undefined), Error, "Refused");
  await attempts.ended();
  attempts.leaveAll(undefined);
});

Deno.test("What takes too long is given up, each at its time, and what has been answered is not", async () => {
  using _ = stayAlive();
  const attempts = new Attempts(20);
  const late: string[] = [];
  const wait = (name: string, running: Promise<unknown>) =>
    attempts.wait(running, () => late.push(name), undefined).catch(({ message }) => message);
  const slow = Promise.withResolvers<string>();
  const first = wait("first", slow.promise);
  const second = wait("second", Promise.resolve("in time"));
  assertEquals(await second, "in time");
  assertEquals(await first, "No answer within 20 ms");
  const third = wait("third", never());
  assertEquals(await third, "No answer within 20 ms");
  // Nobody waits for it any more.
  slow.resolve("too late");
  await slow.promise;
  assertEquals(late, ["first", "third"]);
  attempts.leaveAll(undefined);
});

Deno.test("Whoever gives up waits no longer, and is not told that it took too long", async () => {
  using _ = stayAlive();
  const attempts = new Attempts(20);
  const late: string[] = [];
  const controller = new AbortController();
  const left = assertRejects(() => attempts.wait(never(), () => late.push("left"), controller.signal), Error, "Enough");
  const other = assertRejects(() => attempts.wait(never(), () => late.push("other"), undefined), Error, "No answer");
  controller.abort(new Error("Enough"));
  await left;
  await other;
  assertEquals(late, ["other"]);
  attempts.leaveAll(undefined);
});

Deno.test("When it is over, nobody waits, though what was asked goes on", async () => {
  const attempts = new Attempts(LONG);
  const slow = Promise.withResolvers<void>();
  const waiting = assertRejects(() => attempts.wait(slow.promise, () => {}, undefined), Error, "Closed");
  attempts.leaveAll(new Error("Closed"));
  await waiting;
  let hasEnded = false;
  const ended = attempts.ended().then(() => hasEnded = true);
  await Promise.resolve();
  assertEquals(hasEnded, false);
  slow.resolve();
  await ended;
});
