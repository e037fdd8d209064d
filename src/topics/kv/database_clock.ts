/**
 * The clock of a database on the network, as its answers tell it. Between them time goes on by `performance.now()`: the wall clock of
 * this machine may be set at any moment.
 */

/** How much later than an answer tells it may be, in milliseconds: it tells whole seconds, and some servers the same for one more. */
export const CLOCK_PRECISION = 2_000;
/** How often the time is noted that an answer tells, in milliseconds. */
const NOTING = 1_000;

/** Knows what time it is there. */
export class DatabaseClock {
  /** How far it is ahead of `performance.now()`, in milliseconds; undefined until an answer has told. */
  #ahead: number | undefined;
  /** When an answer was looked at last, in milliseconds of `performance.now()`. */
  #notedAt = -Infinity;
  /** How far the wall clock of this machine was ahead of `performance.now()` then, in milliseconds. */
  #wallAhead = 0;

  /** The time in milliseconds since 1970: that of this machine until an answer has told. */
  now(): number {
    return this.#ahead === undefined ? Date.now() : performance.now() + this.#ahead;
  }

  /** Whether it is time to look at an answer: doing so with each can be measured. */
  get isDue(): boolean {
    return performance.now() - this.#notedAt > NOTING || this.isUncertain;
  }

  /**
   * Whether the two clocks of this machine disagree how long ago an answer was looked at: its wall clock was set, and time has gone on
   * as it did; or the machine was asleep, and `performance.now()` has stood still.
   */
  get isUncertain(): boolean {
    return this.#ahead !== undefined && Math.abs(wallAhead() - this.#wallAhead) > CLOCK_PRECISION;
  }

  /**
   * Takes note of an answer.
   *
   * @param date The time that it tells, if any.
   * @param begin When it was asked for, in milliseconds of `performance.now()`.
   */
  note(date: string | null, begin: number): void {
    const now = performance.now();
    this.#notedAt = now;
    this.#wallAhead = wallAhead();
    const time = Date.parse(date ?? "");
    if (Number.isNaN(time)) return;
    // Where it agrees, what was known is more exact than what is told.
    const known = this.#ahead ?? this.#wallAhead;
    this.#ahead = Math.min(Math.max(known, time - now), time + CLOCK_PRECISION - begin);
  }
}

function wallAhead(): number {
  return Date.now() - performance.now();
}
