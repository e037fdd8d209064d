/** A time zone: its local times, and when they are. All times are in milliseconds. */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Shorter than the time between two changes of an offset: Morocco changes it around Ramadan. */
const STEP = 7 * DAY;

/**
 * A time zone. A local time is a number, too: the milliseconds since 1970 if the zone were UTC.
 */
export class Zone {
  readonly #format: Intl.DateTimeFormat | undefined;

  constructor(timeZone: string) {
    if (timeZone === "UTC") return;
    this.#format = new Intl.DateTimeFormat("en-US", {
      ...{ timeZone, hourCycle: "h23", era: "short" },
      ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" },
    });
  }

  /** How far local time is ahead of UTC at a moment. */
  offset(time: number): number {
    if (!this.#format) return 0;
    const fields: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(time)) fields[type] = Number(value);
    const { year, month, day, hour, minute, second } = fields as Record<string, number>;
    const local = Date.UTC(year!, month! - 1, day, hour, minute, second);
    return local - Math.floor(time / 1_000) * 1_000;
  }

  /**
   * The moment of a local time: the first one if there are two, and the end of the gap if it is
   * skipped. A later local time never has an earlier moment.
   */
  momentOf(local: number): number {
    // No zone is a day from UTC.
    const [before, after] = [this.offset(local - DAY), this.offset(local + DAY)];
    const found = [before, after].map((offset) => ({ offset, time: local - offset }))
      .filter(({ offset, time }) => this.offset(time) === offset);
    if (found.length > 0) return Math.min(...found.map(({ time }) => time));
    return this.#changeWithin(local - DAY, local + DAY);
  }

  /**
   * The first moment after one from which another offset holds; undefined if none is up to `end`.
   */
  nextChange(time: number, end: number): number | undefined {
    const offset = this.offset(time);
    for (let from = time; from < end; from += STEP) {
      const to = Math.min(from + STEP, end);
      if (this.offset(to) !== offset) return this.#changeWithin(from, to);
    }
    return undefined;
  }

  /** The last moment up to one from which its offset holds; undefined if that is before `begin`. */
  lastChange(time: number, begin: number): number | undefined {
    const offset = this.offset(time);
    for (let to = time; to > begin; to -= STEP) {
      const from = Math.max(to - STEP, begin);
      if (this.offset(from) !== offset) return this.#changeWithin(from, to);
    }
    return undefined;
  }

  /** The moment between two at which the offset changes. */
  #changeWithin(from: number, to: number): number {
    const offset = this.offset(from);
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2);
      if (this.offset(middle) === offset) from = middle;
      else to = middle;
    }
    return to;
  }
}
