/** The time, as consumers see it. Tests give them another one. */
import { MAX_TIMER_MS } from "../../base/options.ts";

/** A clock of this machine. */
export interface Clock {
  /** Milliseconds of a clock that nobody sets. It may stand still while the machine sleeps. */
  now(): number;
  /** Milliseconds since 1970, of a clock that somebody may set. */
  wall(): number;
  /** Calls an action once after so many milliseconds; the result prevents that. */
  after(ms: number, action: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, action) {
    const timer = setTimeout(action, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** A moment that can be compared with the present, also if the machine slept in between. */
export interface Moment {
  readonly now: number;
  readonly wall: number;
}

export function momentOf(clock: Clock): Moment {
  return { now: clock.now(), wall: clock.wall() };
}

/**
 * How many milliseconds have passed, at least one of the clocks says so. A clock that is set
 * forward makes it longer, and nothing makes it shorter.
 */
export function elapsedSince(moment: Moment, clock: Clock): number {
  return Math.max(clock.now() - moment.now, clock.wall() - moment.wall);
}
