/**
 * The clock of the servers, by the times in their replies. Between two replies it advances by
 * `performance.now()`, since somebody may set the wall clock at any moment.
 */

/** How far the clocks of this machine may differ before the time is asked for, in milliseconds. */
const TOLERANCE = 2_000;

/** An estimate of the servers' time. */
export class ServerClock {
  /** The least and the greatest difference to `performance.now()` that fit the replies so far. */
  #range: readonly [least: number, most: number] | undefined;
  /** The difference of the wall clock to `performance.now()` at the last reply, in milliseconds. */
  #wallSkew = 0;

  /** The time in milliseconds since 1970; this machine's before the first reply. */
  now(): number {
    if (!this.#range) return Date.now();
    const [least, most] = this.#range;
    return performance.now() + (least + most) / 2;
  }

  /**
   * Whether the two clocks of this machine disagree about the time since the last reply. Then
   * somebody set the wall clock, or the machine was asleep and `performance.now()` stood still.
   */
  get isUncertain(): boolean {
    return this.#range !== undefined && Math.abs(wallSkew() - this.#wallSkew) > TOLERANCE;
  }

  /**
   * Reads the time of a reply.
   *
   * @param time The time in the format of RFC 3339.
   * @param begin When the request was sent, by `performance.now()`.
   */
  note(time: string, begin: number): void {
    const sent = Date.parse(time);
    if (Number.isNaN(sent)) return;
    const [least, most] = [sent - performance.now(), sent - begin];
    const known = this.#range;
    this.#wallSkew = wallSkew();
    // What fits both is more exact. Where nothing does, a clock was changed.
    const both = known && [Math.max(least, known[0]), Math.min(most, known[1])] as const;
    this.#range = both && both[0] <= both[1] ? both : [least, most];
  }
}

function wallSkew(): number {
  return Date.now() - performance.now();
}
