/**
 * The clock of a database on the network, read off the `Date` header of its answers. Between two
 * answers it advances by `performance.now()`: somebody may set the wall clock at any moment.
 */

/**
 * How late the time of an answer may be, in milliseconds. The header has whole seconds, and some
 * servers repeat one for a second more.
 */
export const CLOCK_PRECISION = 2_000;
/** How often the time of an answer is read, in milliseconds. */
const NOTING = 1_000;

/** An estimate of the database's time. */
export class DatabaseClock {
  /** The offset to `performance.now()`, in milliseconds; undefined before the first answer. */
  #ahead: number | undefined;
  /** When the last answer was read, in milliseconds of `performance.now()`. */
  #notedAt = -Infinity;
  /** The offset of the wall clock to `performance.now()` at that time, in milliseconds. */
  #wallAhead = 0;

  /** The time in milliseconds since 1970. Before the first answer it is this machine's. */
  now(): number {
    return this.#ahead === undefined ? Date.now() : performance.now() + this.#ahead;
  }

  /** Whether the next answer should be read. Reading each one costs a measurable time. */
  get isDue(): boolean {
    return performance.now() - this.#notedAt > NOTING || this.isUncertain;
  }

  /**
   * Whether the two clocks of this machine disagree about the time since the last answer. Either
   * the wall clock was set, or the machine was asleep and `performance.now()` stood still.
   */
  get isUncertain(): boolean {
    return this.#ahead !== undefined && Math.abs(wallAhead() - this.#wallAhead) > CLOCK_PRECISION;
  }

  /**
   * Reads the time of an answer.
   *
   * @param date The value of its `Date` header, if any.
   * @param begin When the request was sent, in milliseconds of `performance.now()`.
   */
  note(date: string | null, begin: number): void {
    const now = performance.now();
    this.#notedAt = now;
    this.#wallAhead = wallAhead();
    const time = Date.parse(date ?? "");
    if (Number.isNaN(time)) return;
    // The known offset is more exact than whole seconds: it stays where it agrees with the answer.
    const known = this.#ahead ?? this.#wallAhead;
    this.#ahead = Math.min(Math.max(known, time - now), time + CLOCK_PRECISION - begin);
  }
}

function wallAhead(): number {
  return Date.now() - performance.now();
}
