/** The clocks and timers that work depends on. Tests give others. */
import { MAX_TIMER_MS } from "./options.ts";

/** The clocks of one machine. */
export interface Clock {
  /** Milliseconds of a monotonic clock. It may stop while the machine sleeps. */
  now(): number;
  /** Milliseconds since 1970 of the wall clock, which an administrator may set. */
  wall(): number;
  /** Calls an action once after so many milliseconds. The result cancels that. */
  after(ms: number, action: () => void): () => void;
}

/** The same, with the time that all nodes share. */
export interface SharedClock extends Clock {
  /** Milliseconds since 1970, by the clock of the store if it has one. */
  time(): number;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, action) {
    const timer = setTimeout(action, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** A moment on both clocks: the machine may sleep afterwards, and the wall clock may be set. */
export interface Moment {
  readonly now: number;
  readonly wall: number;
}

export function momentOf(clock: Clock): Moment {
  return { now: clock.now(), wall: clock.wall() };
}

/**
 * Milliseconds since a moment, by the clock that says more. A wall clock that is set forward makes
 * it longer, and nothing makes it shorter.
 */
export function elapsedSince(moment: Moment, clock: Clock): number {
  return Math.max(clock.now() - moment.now, clock.wall() - moment.wall);
}
