/** The times of a cron. */
import { Cron } from "croner";
import { withoutSteps } from "./fields.ts";
import type { DeclaredCron } from "./options.ts";

/** The resolution of the library, in milliseconds. */
const SECOND = 1_000;

/** Computes the times of a cron, in milliseconds since 1970. */
export class CronTimes {
  readonly #cron: Cron;

  /** @throws {TypeError} If the schedule cannot be read, or no time ever comes. */
  constructor({ name, schedule, timeZone }: DeclaredCron) {
    try {
      this.#cron = new Cron(withoutSteps(schedule), {
        mode: "5-part",
        timezone: timeZone,
        fixedTimeRule: "no-wildcard",
        paused: true,
      });
    } catch (cause) {
      throw new TypeError(`Cannot start the cron "${name}": its schedule ${JSON.stringify(schedule)} cannot be read`, {
        cause,
      });
    }
    if (this.#cron.nextRun() !== null) return;
    throw new TypeError(
      `Cannot start the cron "${name}": no day has the date of ${JSON.stringify(schedule)}, choose another schedule`,
    );
  }

  /** The first time after a moment; `Infinity` if none comes. */
  next(after: number): number {
    return this.#cron.nextRun(new Date(after))?.getTime() ?? Infinity;
  }

  /** The last time up to a moment, and after another one; undefined if there is none. */
  latest(after: number, until: number): number | undefined {
    // Times are whole seconds, and the library gives those before its argument.
    const end = new Date(Math.floor(until / SECOND) * SECOND + SECOND);
    const [found] = this.#cron.previousRuns(1, end);
    return found && found.getTime() > after ? found.getTime() : undefined;
  }
}
