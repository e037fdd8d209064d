import { assertEquals } from "@std/assert";
import { StoreClock } from "../../../src/store/store_connection.ts";

const HOUR = 3_600_000;
/** The `Date` headers of a database have whole seconds. */
const HEADER_PRECISION = 2_000;

/** The clocks of a machine, and the clock of a database. */
class Machine implements Disposable {
  #steady = 0;
  #wall = Date.UTC(2026, 0, 1);
  #database = Date.UTC(2026, 0, 1);
  readonly #dateNow = Date.now;
  readonly #performanceNow = performance.now;

  constructor() {
    Date.now = () => this.#wall;
    performance.now = () => this.#steady;
  }

  /** Time passes for all. */
  pass(ms: number): void {
    this.#steady += ms;
    this.sleep(ms);
  }

  /** Time passes, but not for the steady clock of the machine. */
  sleep(ms: number): void {
    this.#database += ms;
    this.setWall(ms);
  }

  /** Sets the wall clock of the machine. */
  setWall(ms: number): void {
    this.#wall += ms;
  }

  /** Sets the clock of the database. */
  setStore(ms: number): void {
    this.#database += ms;
  }

  /** How far off a clock is, in milliseconds. */
  errorOf(clock: StoreClock): number {
    return clock.now() - this.#database;
  }

  /** Gives a clock the reply to an earlier request. */
  answer(clock: StoreClock, took = 0): void {
    clock.note(new Date(this.#database - took / 2).toUTCString(), this.#steady - took);
  }

  /** The same, with a time in milliseconds. */
  answerExactly(clock: StoreClock, took: number): void {
    clock.note(new Date(this.#database - took / 2).toISOString(), this.#steady - took);
  }

  [Symbol.dispose](): void {
    Date.now = this.#dateNow;
    performance.now = this.#performanceNow;
  }
}

Deno.test("The time of a database advances steadily, even if this machine's wall clock changes", () => {
  using machine = new Machine();
  const clock = new StoreClock(HEADER_PRECISION);
  assertEquals([machine.errorOf(clock), clock.isDue, clock.isUncertain], [0, true, false]);
  machine.answer(clock);
  assertEquals(clock.isDue, false);
  for (const jump of [HOUR, -2 * HOUR, HOUR]) {
    machine.setWall(jump);
    machine.pass(500);
    assertEquals([machine.errorOf(clock), clock.isDue, clock.isUncertain], [0, true, true]);
    machine.answer(clock, 300);
    assertEquals([machine.errorOf(clock), clock.isDue, clock.isUncertain], [0, false, false]);
  }
  machine.pass(1_001);
  assertEquals([clock.isDue, clock.isUncertain], [true, false]);
});

Deno.test("A late answer does not set the time of a database back", () => {
  using machine = new Machine();
  const clock = new StoreClock(HEADER_PRECISION);
  machine.answer(clock);
  for (const took of [500, 2_500, 9_700]) {
    machine.pass(took);
    machine.answer(clock, took);
    assertEquals(machine.errorOf(clock), 0);
  }
});

Deno.test("After a sleep, the time of a database is uncertain until an answer has it", () => {
  using machine = new Machine();
  const clock = new StoreClock(HEADER_PRECISION);
  machine.answer(clock);
  machine.sleep(8 * HOUR);
  assertEquals(clock.isUncertain, true);
  machine.answer(clock, 100);
  assertEquals(clock.isUncertain, false);
  // Times in whole seconds may be wrong by a second or two.
  assertEquals(Math.abs(machine.errorOf(clock)) <= 2_000, true);
});

Deno.test("A machine whose clock is wrong knows the time of a database to a second or two", () => {
  for (const off of [HOUR, -HOUR]) {
    using machine = new Machine();
    machine.setWall(off);
    const clock = new StoreClock(HEADER_PRECISION);
    machine.answer(clock, 200);
    assertEquals(Math.abs(machine.errorOf(clock)) <= 2_000, true);
  }
});

Deno.test("If no answer has the time, it is that of this machine", () => {
  using machine = new Machine();
  const clock = new StoreClock(HEADER_PRECISION);
  for (const date of [null, "none"]) {
    clock.note(date, 0);
    machine.setWall(HOUR);
    assertEquals([clock.now(), clock.isUncertain], [Date.now(), false]);
  }
});

Deno.test("Exact times of replies bound the time of a store by how long the replies took", () => {
  using machine = new Machine();
  machine.setWall(HOUR);
  const clock = new StoreClock();
  for (const took of [10_000, 400, 20]) {
    machine.answerExactly(clock, took);
    assertEquals(Math.abs(machine.errorOf(clock)) <= took, true);
  }
  // A longer reply does not make it less exact.
  machine.answerExactly(clock, 10_000);
  assertEquals(Math.abs(machine.errorOf(clock)) <= 20, true);
});

Deno.test("A time that the replies before exclude is believed: the clock of the store was set", () => {
  using machine = new Machine();
  const clock = new StoreClock();
  machine.answerExactly(clock, 0);
  machine.setStore(-HOUR);
  machine.answerExactly(clock, 0);
  assertEquals(machine.errorOf(clock), 0);
});
