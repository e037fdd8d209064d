/** Clocks and timers. Tests replace them. */
import { MAX_TIMER_MS } from "./options.ts";

export interface Clock {
  /** Monotonic milliseconds. May stop while the machine sleeps. */
  now(): number;
  /** Milliseconds since 1970. An administrator may set it. */
  wall(): number;
  /**
   * Calls an action once. The result cancels it.
   *
   * @param options Whether the timer keeps the process alive, as it does by default.
   */
  after(ms: number, action: () => void, options?: { readonly keepsAlive: boolean }): () => void;
}

/** With the time that all nodes share. */
export interface SharedClock extends Clock {
  /** Milliseconds since 1970, by the clock of the store if it has one. */
  time(): number;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, action, options) {
    const timer = setTimeout(action, Math.min(ms, MAX_TIMER_MS));
    if (options?.keepsAlive === false) Deno.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
};

/** On both clocks: the machine may sleep, and the wall clock may be set. */
export interface Moment {
  readonly now: number;
  readonly wall: number;
}

export function momentOf(clock: Clock): Moment {
  return { now: clock.now(), wall: clock.wall() };
}

/** By the clock with the larger difference: the wall clock may be set forward. */
export function elapsedSince(moment: Moment, clock: Clock): number {
  return Math.max(clock.now() - moment.now, clock.wall() - moment.wall);
}
