/** The time, as crons see it. Tests give them another one. */

/** The clocks and timers of a node. */
export interface CronClock {
  /** Milliseconds since 1970, by the clock that the nodes share if there is one. */
  time(): number;
  /** Milliseconds of a clock that nobody sets. It may stand still while the machine sleeps. */
  now(): number;
  /** Milliseconds since 1970, by the clock of this machine, which somebody may set. */
  wall(): number;
  /** Calls an action once after so many milliseconds; the result prevents that. */
  after(ms: number, action: () => void): () => void;
}

/** The clock of this machine, with a time that others share. */
export function clockOf(time: () => number): CronClock {
  return {
    time,
    now: () => performance.now(),
    wall: () => Date.now(),
    after(ms, action) {
      const timer = setTimeout(action, ms);
      return () => clearTimeout(timer);
    },
  };
}
