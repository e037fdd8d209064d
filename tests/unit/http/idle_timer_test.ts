import { outsideRequests } from "../../../src/base/async_context.ts";
import { assertEquals } from "@std/assert";
import { startIdleTimer, TimingWheel } from "../../../src/http/pull_stream.ts";
import { StoppedInterval } from "./support/stopped_interval.ts";

/** How many turns of a wheel make a silence. */
const SILENCE = 16;

/** A wheel that turns when the test says so. */
class HandTurned implements Disposable {
  readonly #interval = new StoppedInterval();
  readonly wheel: TimingWheel;
  emptied = 0;

  constructor() {
    this.wheel = new TimingWheel(1000, () => this.emptied++);
  }

  turn(times: number): void {
    for (; times > 0; times--) this.wheel.turn();
  }

  [Symbol.dispose](): void {
    this.#interval[Symbol.dispose]();
  }
}

Deno.test("a silence is noticed when it is long enough, and again after as long", () => {
  using hand = new HandTurned();
  let noticed = 0;
  const timer = hand.wheel.start(() => noticed++);
  hand.turn(SILENCE - 1);
  assertEquals(noticed, 0);
  hand.turn(1);
  assertEquals(noticed, 1);
  hand.turn(SILENCE - 1);
  assertEquals(noticed, 1);
  hand.turn(1);
  assertEquals(noticed, 2);
  timer.stop();
});

Deno.test("a reset in between begins the silence again", () => {
  for (let at = 0; at < SILENCE; at++) {
    using hand = new HandTurned();
    let noticed = 0;
    const timer = hand.wheel.start(() => noticed++);
    hand.turn(at);
    timer.reset();
    hand.turn(SILENCE - 1);
    assertEquals(noticed, 0, `reset at turn ${at}`);
    hand.turn(1);
    assertEquals(noticed, 1, `reset at turn ${at}`);
    timer.stop();
  }
});

Deno.test("a timer that was stopped does not fire; the last one stops the wheel, once", () => {
  using hand = new HandTurned();
  let noticed = 0;
  const timers = [1, 2].map(() => hand.wheel.start(() => noticed++));
  timers[0]!.stop();
  timers[0]!.stop();
  assertEquals(hand.emptied, 0);
  timers[1]!.stop();
  timers[1]!.stop();
  assertEquals(hand.emptied, 1);
  hand.turn(2 * SILENCE);
  assertEquals(noticed, 0);
});

Deno.test("a timer that another one stops in the same turn does not fire", () => {
  using hand = new HandTurned();
  const noticed: string[] = [];
  const first = hand.wheel.start(() => {
    noticed.push("first");
    second.stop();
  });
  const second = hand.wheel.start(() => noticed.push("second"));
  hand.turn(SILENCE);
  assertEquals(noticed, ["first"]);
  first.stop();
  assertEquals(hand.emptied, 1);
});

Deno.test("many timers share one interval for each length, which ends with the last of them", async () => {
  using interval = new StoppedInterval();
  let noticed = 0;
  const timers = Array.from({ length: 1000 }, (_, index) => startIdleTimer(1000 + index % 2, () => noticed++));
  // The interval starts outside of the context of the first timer.
  await outsideRequests(() => {});
  assertEquals(interval.size, 2);
  interval.pass(SILENCE);
  assertEquals(noticed, 1000);
  for (const timer of timers) timer.stop();
  assertEquals(interval.size, 0);
});
