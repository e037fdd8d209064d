/**
 * The clock of a database on the network, by the `Date` headers of its replies. Between two replies
 * it advances by `performance.now()`, since somebody may set the wall clock at any moment.
 */

/**
 * How much a header may be behind, in milliseconds. It has whole seconds, and some servers send the
 * same one for two seconds.
 */
export const CLOCK_PRECISION = 2_000;
/** How often a header is read, in milliseconds. Reading each one costs measurable time. */
const INTERVAL = 1_000;

/** An estimate of the database's time. */
export class DatabaseClock {
  /** The difference to `performance.now()` in milliseconds; undefined before the first reply. */
  #skew: number | undefined;
  /** When the last header was read, by `performance.now()`. */
  #notedAt = -Infinity;
  /** The difference of the wall clock to `performance.now()` at that time, in milliseconds. */
  #wallSkew = 0;

  /** The time in milliseconds since 1970; this machine's before the first reply. */
  now(): number {
    return this.#skew === undefined ? Date.now() : performance.now() + this.#skew;
  }

  /** Whether the next header should be read. */
  get isDue(): boolean {
    return performance.now() - this.#notedAt > INTERVAL || this.isUncertain;
  }

  /**
   * Whether the two clocks of this machine disagree about the time since the last header. Then
   * somebody set the wall clock, or the machine was asleep and `performance.now()` stood still.
   */
  get isUncertain(): boolean {
    return this.#skew !== undefined && Math.abs(wallSkew() - this.#wallSkew) > CLOCK_PRECISION;
  }

  /**
   * Reads the time of a reply.
   *
   * @param date Its `Date` header, if any.
   * @param begin When the request was sent, by `performance.now()`.
   */
  note(date: string | null, begin: number): void {
    const now = performance.now();
    this.#notedAt = now;
    this.#wallSkew = wallSkew();
    const time = Date.parse(date ?? "");
    if (Number.isNaN(time)) return;
    // The known difference is more exact than whole seconds. It stays where it agrees with the
    // header.
    const known = this.#skew ?? this.#wallSkew;
    this.#skew = Math.min(Math.max(known, time - now), time + CLOCK_PRECISION - begin);
  }
}

function wallSkew(): number {
  return Date.now() - performance.now();
}
