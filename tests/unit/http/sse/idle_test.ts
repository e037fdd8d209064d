import { assertEquals } from "@std/assert";
import { IdleWheel, watchIdle } from "../../../../src/http/sse/stream.ts";
import { StoppedInterval } from "../support/stopped_interval.ts";

/** How many turns of a wheel make a silence. */
const SILENCE = 16;

/** A wheel that turns when the test says so. */
class HandTurned implements Disposable {
  readonly #interval = new StoppedInterval();
  readonly wheel: IdleWheel;
  emptied = 0;

  constructor() {
    this.wheel = new IdleWheel(1000, () => this.emptied++);
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
  const watch = hand.wheel.watch(() => noticed++);
  hand.turn(SILENCE - 1);
  assertEquals(noticed, 0);
  hand.turn(1);
  assertEquals(noticed, 1);
  hand.turn(SILENCE - 1);
  assertEquals(noticed, 1);
  hand.turn(1);
  assertEquals(noticed, 2);
  watch.end();
});

Deno.test("whatever happens in between begins the silence anew", () => {
  for (let at = 0; at < SILENCE; at++) {
    using hand = new HandTurned();
    let noticed = 0;
    const watch = hand.wheel.watch(() => noticed++);
    hand.turn(at);
    watch.touch();
    hand.turn(SILENCE - 1);
    assertEquals(noticed, 0, `touched at turn ${at}`);
    hand.turn(1);
    assertEquals(noticed, 1, `touched at turn ${at}`);
    watch.end();
  }
});

Deno.test("a watch that has ended notices nothing; the last one stops the wheel, once", () => {
  using hand = new HandTurned();
  let noticed = 0;
  const watches = [1, 2].map(() => hand.wheel.watch(() => noticed++));
  watches[0]!.end();
  watches[0]!.end();
  assertEquals(hand.emptied, 0);
  watches[1]!.end();
  watches[1]!.end();
  assertEquals(hand.emptied, 1);
  hand.turn(2 * SILENCE);
  assertEquals(noticed, 0);
});

Deno.test("a watch that another one ends in the same turn is not called any more", () => {
  using hand = new HandTurned();
  const noticed: string[] = [];
  const first = hand.wheel.watch(() => {
    noticed.push("first");
    second.end();
  });
  const second = hand.wheel.watch(() => noticed.push("second"));
  hand.turn(SILENCE);
  assertEquals(noticed, ["first"]);
  first.end();
  assertEquals(hand.emptied, 1);
});

Deno.test("many connections share one timer for each length, which ends with the last of them", () => {
  using interval = new StoppedInterval();
  let noticed = 0;
  const watches = Array.from({ length: 1000 }, (_, index) => watchIdle(1000 + index % 2, () => noticed++));
  assertEquals(interval.size, 2);
  interval.pass(SILENCE);
  assertEquals(noticed, 1000);
  for (const watch of watches) watch.end();
  assertEquals(interval.size, 0);
});
