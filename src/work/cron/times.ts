/** The times of a cron. */
import { Cron } from "croner";
import { hasEachHour } from "./options.ts";
import type { DeclaredCron } from "./options.ts";

/** The resolution of the library. */
const SECOND = 1_000;
/** A change of the offset longer ago than this doubles no local time of now. */
const LONGEST_SHIFT = 26 * 3_600_000;

/**
 * The times of a cron, in milliseconds since 1970. The library computes local times as if the zone
 * were UTC, so that they have no gaps; `Zone` converts them.
 */
export class CronTimes {
  readonly #cron: Cron;
  readonly #zone: Zone;
  /** Whether it runs in each hour that passes, also a doubled one. */
  readonly #hasEachHour: boolean;

  /** @throws {TypeError} If the schedule cannot be parsed, or has no next time. */
  constructor({ name, schedule, timeZone }: DeclaredCron) {
    try {
      this.#cron = new Cron(schedule, { mode: "5-part", timezone: "UTC", paused: true });
    } catch (cause) {
      throw new TypeError(`Cannot start the cron "${name}": its schedule ${JSON.stringify(schedule)} cannot be read`, {
        cause,
      });
    }
    this.#zone = new Zone(timeZone);
    this.#hasEachHour = hasEachHour(schedule);
    if (this.#cron.nextRun() !== null) return;
    throw new TypeError(
      `Cannot start the cron "${name}": no day has the date of ${JSON.stringify(schedule)}, choose another schedule`,
    );
  }

  /** The first time after a moment; `Infinity` if there is none. */
  next(after: number): number {
    let local = this.#localAfter(after + this.#zone.offset(after));
    if (this.#hasEachHour) return this.#nextPassing(after, local);
    // A doubled local time counts at its first moment, which may be over.
    while (local !== undefined && this.#zone.momentOf(local) <= after) local = this.#localAfter(local);
    return local === undefined ? Infinity : this.#zone.momentOf(local);
  }

  /** The last time in the interval, without its start; undefined if there is none. */
  latest(after: number, until: number): number | undefined {
    const found = this.#hasEachHour ? this.#latestPassing(after, until) : this.#latestFixed(until);
    return found !== undefined && found > after ? found : undefined;
  }

  #nextPassing(after: number, local: number | undefined): number {
    if (local === undefined) return Infinity;
    const time = local - this.#zone.offset(after);
    const change = this.#zone.nextChange(after, time);
    if (change === undefined) return time;
    return this.#nextPassing(change, this.#localAfter(change + this.#zone.offset(change) - 1));
  }

  #latestPassing(after: number, until: number): number | undefined {
    const offset = this.#zone.offset(until);
    const local = this.#localUpTo(until + offset);
    if (local === undefined) return undefined;
    const time = local - offset;
    const change = this.#zone.lastChange(until, Math.max(time, after));
    return change === undefined ? time : this.#latestPassing(after, change - 1);
  }

  #latestFixed(until: number): number | undefined {
    const zone = this.#zone;
    // A doubled local time that is later than that of now may be over.
    const offset = Math.max(zone.offset(until), zone.offset(until - LONGEST_SHIFT));
    let local = this.#localUpTo(until + offset);
    while (local !== undefined && zone.momentOf(local) > until) local = this.#localUpTo(local - 1);
    return local === undefined ? undefined : zone.momentOf(local);
  }

  #localAfter(local: number): number | undefined {
    return this.#cron.nextRun(new Date(local))?.getTime();
  }

  #localUpTo(local: number): number | undefined {
    // Times are whole seconds, and the library returns those before its argument.
    const end = new Date(Math.floor(local / SECOND) * SECOND + SECOND);
    return this.#cron.previousRuns(1, end)[0]?.getTime();
  }
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Shorter than the time between two changes of an offset: Morocco changes it around Ramadan. */
const STEP = 7 * DAY;

/** A time zone. Local times are milliseconds since 1970 as if the zone were UTC. */
export class Zone {
  readonly #format: Intl.DateTimeFormat | undefined;

  constructor(timeZone: string) {
    if (timeZone === "UTC") return;
    this.#format = new Intl.DateTimeFormat("en-US", {
      ...{ timeZone, hourCycle: "h23", era: "short" },
      ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" },
    });
  }

  /** How far local time is ahead of UTC. */
  offset(time: number): number {
    if (!this.#format) return 0;
    const fields: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(time)) fields[type] = Number(value);
    const { year, month, day, hour, minute, second } = fields as Record<string, number>;
    const local = Date.UTC(year!, month! - 1, day, hour, minute, second);
    return local - Math.floor(time / 1_000) * 1_000;
  }

  /** The first moment of a local time. A later local time never has an earlier moment. */
  momentOf(local: number): number {
    // No zone is a day from UTC.
    const [before, after] = [this.offset(local - DAY), this.offset(local + DAY)];
    const found = [before, after].map((offset) => ({ offset, time: local - offset }))
      .filter(({ offset, time }) => this.offset(time) === offset);
    if (found.length > 0) return Math.min(...found.map(({ time }) => time));
    return this.#changeWithin(local - DAY, local + DAY);
  }

  /** The first moment after `time` with another offset; undefined if there is none up to `end`. */
  nextChange(time: number, end: number): number | undefined {
    const offset = this.offset(time);
    for (let from = time; from < end; from += STEP) {
      const to = Math.min(from + STEP, end);
      if (this.offset(to) !== offset) return this.#changeWithin(from, to);
    }
    return undefined;
  }

  /** The first moment of the offset of `time`; undefined if that is before `begin`. */
  lastChange(time: number, begin: number): number | undefined {
    const offset = this.offset(time);
    for (let to = time; to > begin; to -= STEP) {
      const from = Math.max(to - STEP, begin);
      if (this.offset(from) !== offset) return this.#changeWithin(from, to);
    }
    return undefined;
  }

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
