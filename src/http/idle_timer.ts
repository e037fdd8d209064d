/**
 * Timers for many connections that share one interval of the platform. A separate timer for each
 * connection would be set again at each event, which costs hundreds of times as much as storing the
 * number of a turn.
 */
import { outsideRequests } from "../base/async_context.ts";
import { MAX_TIMER_MS } from "../base/options.ts";

/** The turns in a silence. It is noticed up to one turn too early. */
const TURNS = 16;

const wheels = new Map<number, TimingWheel>();

/**
 * Starts a timer that fires after each silence of this length. `onIdle` may return how many
 * milliseconds ago something happened that did not reset the timer: the silence counts from there.
 */
export function startIdleTimer(ms: number, onIdle: () => number | undefined): IdleTimer {
  let wheel = wheels.get(ms);
  if (!wheel) {
    wheel = new TimingWheel(ms, () => wheels.delete(ms));
    wheels.set(ms, wheel);
  }
  return wheel.start(onIdle);
}

/** A timing wheel: each turn looks only at the timers whose silence may have become long enough. */
export class TimingWheel {
  turns = 0;
  readonly #ms: number;
  readonly #onEmpty: () => void;
  readonly #slots: readonly Set<IdleTimer>[] = Array.from({ length: TURNS }, () => new Set());
  #size = 0;
  #interval: ReturnType<typeof setInterval> | undefined;

  constructor(ms: number, onEmpty: () => void) {
    this.#ms = ms;
    this.#onEmpty = onEmpty;
  }

  start(onIdle: () => number | undefined): IdleTimer {
    const timer = new IdleTimer(this, onIdle);
    this.#insert(timer);
    if (this.#size++ === 0) void outsideRequests(() => this.#startInterval());
    return timer;
  }

  #startInterval(): void {
    if (this.#size === 0 || this.#interval !== undefined) return;
    this.#interval = setInterval(() => this.turn(), Math.min(this.#ms / TURNS, MAX_TIMER_MS));
    // The connections keep the program alive, not their timers.
    Deno.unrefTimer(this.#interval);
  }

  stop(timer: IdleTimer): void {
    if (!this.#slotAt(timer.dueAt).delete(timer) || --this.#size > 0) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
    this.#onEmpty();
  }

  turn(): void {
    this.turns++;
    const due = this.#slotAt(this.turns);
    const timers = [...due];
    due.clear();
    // All timers are back in the wheel before the first one fires: it may stop others.
    const idle = timers.filter((timer) => {
      const isIdle = this.turns - timer.activeAt >= TURNS;
      if (isIdle) timer.reset();
      this.#insert(timer);
      return isIdle;
    });
    for (const timer of idle) {
      if (!this.#slotAt(timer.dueAt).has(timer)) continue;
      const ago = timer.onIdle();
      if (ago === undefined || !this.#slotAt(timer.dueAt).delete(timer)) continue;
      timer.activeAt = this.turns - Math.min(Math.ceil(ago * TURNS / this.#ms), TURNS - 1);
      this.#insert(timer);
    }
  }

  #insert(timer: IdleTimer): void {
    timer.dueAt = timer.activeAt + TURNS;
    this.#slotAt(timer.dueAt).add(timer);
  }

  #slotAt(turn: number): Set<IdleTimer> {
    return this.#slots[turn % TURNS]!;
  }
}

/** The timer of one connection. */
export class IdleTimer {
  readonly onIdle: () => number | undefined;
  /** The turn of the last activity. */
  activeAt: number;
  /** The turn that looks at this timer next. */
  dueAt = 0;
  readonly #wheel: TimingWheel;

  constructor(wheel: TimingWheel, onIdle: () => number | undefined) {
    this.#wheel = wheel;
    this.onIdle = onIdle;
    this.activeAt = wheel.turns;
  }

  /** The silence counts from now. */
  reset(): void {
    this.activeAt = this.#wheel.turns;
  }

  stop(): void {
    this.#wheel.stop(this);
  }
}
