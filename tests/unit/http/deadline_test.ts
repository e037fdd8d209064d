import { assert, assertEquals, assertRejects } from "@std/assert";
import { releaseIdleTimer, withDeadline, withOwnDeadline } from "../../../src/http/deadline.ts";
import { ticks } from "../../spec/support/ticks.ts";
import { FakeTime } from "../support/fake_time.ts";

const late = () => new RangeError("late");
const broken = (cause: unknown) => new TypeError(`broken: ${cause}`);

/** Keeps the event loop alive, which the shared timer alone does not. */
function awake(): Disposable {
  const timer = setInterval(() => {}, 1_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

for (const [name, wait] of Object.entries({ withDeadline, withOwnDeadline })) {
  Deno.test(`${name}() resolves as the promise does in time`, async () => {
    assertEquals(await wait(Promise.resolve(5), 60_000, late, broken), 5);
    await assertRejects(() => wait(Promise.reject("x"), 60_000, late, broken), TypeError, "broken: x");
    releaseIdleTimer();
  });

  Deno.test(`${name}() fails with the given error after the time limit`, async () => {
    using _awake = awake();
    await assertRejects(() => wait(new Promise(() => {}), 1, late, broken), RangeError, "late");
    releaseIdleTimer();
  });

  Deno.test(`${name}() waits for the given time, also if that is longer than timers can wait`, async () => {
    using _awake = awake();
    for (const ms of [Infinity, 2 ** 31, 30 * 86_400_000]) {
      const gate = Promise.withResolvers<string>();
      const waiting = wait(gate.promise, ms, late, broken);
      waiting.catch(() => {});
      await ticks(5);
      gate.resolve("patient");
      assertEquals(await waiting, "patient", String(ms));
    }
    releaseIdleTimer();
  });

  Deno.test(`${name}() leaves a promise that fails after its time unheard, not unhandled`, async () => {
    using _awake = awake();
    const gate = Promise.withResolvers<never>();
    await assertRejects(() => wait(gate.promise, 1, late, broken), RangeError);
    gate.reject(new Error("too late"));
    await ticks(1);
    releaseIdleTimer();
  });
}

Deno.test("A short wait after long ones ends in time, and all of them end", async () => {
  using _awake = awake();
  const gate = Promise.withResolvers<number>();
  const long = withDeadline(gate.promise, 3_600_000, late, broken);
  const waits = [30, 10, 20, 1].map((ms) => withDeadline(new Promise(() => {}), ms, late, broken));
  for (const wait of waits) wait.catch(() => {});
  for (const wait of waits) await assertRejects(() => wait, RangeError, "late");
  gate.resolve(5);
  assertEquals(await long, 5);
  releaseIdleTimer();
});

Deno.test("No wait ends before its time, even if the timer was set for another one", async () => {
  using time = new FakeTime();
  const ended: [name: string, at: number][] = [];
  const begin = (name: string, ms: number) =>
    withDeadline(new Promise(() => {}), ms, late, broken).catch(() => ended.push([name, performance.now()]));
  begin("first", 320);
  await time.advance(160);
  begin("second", 240);
  await time.advance(1_000);
  // Each ends up to a sixteenth of its time later.
  assertEquals(ended.map(([name]) => name), ["first", "second"]);
  const [[, first], [, second]] = ended as [[string, number], [string, number]];
  assert(first >= 320 && first <= 340, `${first}`);
  assert(second >= 400 && second <= 415, `${second}`);
  releaseIdleTimer();
});

Deno.test("The shared timer is released only if nothing waits", async () => {
  using _awake = awake();
  const waiting = withDeadline(new Promise(() => {}), 5, late, broken);
  releaseIdleTimer();
  await assertRejects(() => waiting, RangeError);
  releaseIdleTimer();
  releaseIdleTimer();
});
