/**
 * Watches many connections for silence with one timer. A timer for each would be set anew at each event, which takes hundreds of
 * times as long as noting the turn of a wheel.
 */

/** How many turns make the silence that is noticed. It is noticed at most one turn too early. */
const TURNS = 16;

/** A timer that is told to wait longer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

const wheels = new Map<number, IdleWheel>();

/**
 * Watches a connection, whose silence begins now. All who ask for the same length share a wheel.
 *
 * @param ms The silence that is noticed, in milliseconds.
 * @param onIdle Called after each silence of that length. It tells where something happened of which the watch was not told: how
 *   many milliseconds ago.
 */
export function watchIdle(ms: number, onIdle: () => number | undefined): IdleWatch {
  let wheel = wheels.get(ms);
  if (!wheel) {
    wheel = new IdleWheel(ms, () => wheels.delete(ms));
    wheels.set(ms, wheel);
  }
  return wheel.watch(onIdle);
}

/** A timing wheel: each turn looks at those whose silence may have become long enough by then, and at no others. */
export class IdleWheel {
  /** How many turns there have been. */
  turns = 0;
  readonly #ms: number;
  readonly #onEmpty: () => void;
  readonly #slots: readonly Set<IdleWatch>[] = Array.from({ length: TURNS }, () => new Set());
  #size = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Makes a wheel, which stands still until something is watched.
   *
   * @param ms The silence that is noticed, in milliseconds.
   * @param onEmpty Called when nothing is watched any more.
   */
  constructor(ms: number, onEmpty: () => void) {
    this.#ms = ms;
    this.#onEmpty = onEmpty;
  }

  /** Watches a connection, whose silence begins now. */
  watch(onIdle: () => number | undefined): IdleWatch {
    const watch = new IdleWatch(this, onIdle);
    this.#enter(watch);
    if (this.#size++ === 0) {
      this.#timer = setInterval(() => this.turn(), Math.min(this.#ms / TURNS, MAX_TIMEOUT));
      // What is watched keeps the program alive, or nothing does.
      Deno.unrefTimer(this.#timer);
    }
    return watch;
  }

  /** Ends a watch. */
  remove(watch: IdleWatch): void {
    if (!this.#slotAt(watch.dueAt).delete(watch) || --this.#size > 0) return;
    clearInterval(this.#timer);
    this.#onEmpty();
  }

  /** One turn, which the timer makes. */
  turn(): void {
    this.turns++;
    const due = this.#slotAt(this.turns);
    const watches = [...due];
    due.clear();
    // All are entered again before the first is called, who may end others, which are then not called any more.
    const idle = watches.filter((watch) => {
      const isIdle = this.turns - watch.activeAt >= TURNS;
      if (isIdle) watch.touch();
      this.#enter(watch);
      return isIdle;
    });
    for (const watch of idle) {
      if (!this.#slotAt(watch.dueAt).has(watch)) continue;
      const ago = watch.onIdle();
      if (ago !== undefined && this.#slotAt(watch.dueAt).delete(watch)) this.#enterSince(watch, ago);
    }
  }

  #enterSince(watch: IdleWatch, ago: number): void {
    watch.activeAt = this.turns - Math.min(Math.ceil(ago * TURNS / this.#ms), TURNS - 1);
    this.#enter(watch);
  }

  #enter(watch: IdleWatch): void {
    watch.dueAt = watch.activeAt + TURNS;
    this.#slotAt(watch.dueAt).add(watch);
  }

  #slotAt(turn: number): Set<IdleWatch> {
    return this.#slots[turn % TURNS]!;
  }
}

/** The watch over one connection. */
export class IdleWatch {
  /** Called after each silence. */
  readonly onIdle: () => number | undefined;
  /** The turn in which something happened last. */
  activeAt: number;
  /** The turn that looks at it next. */
  dueAt = 0;
  readonly #wheel: IdleWheel;

  /** Made by {@linkcode IdleWheel.watch}. */
  constructor(wheel: IdleWheel, onIdle: () => number | undefined) {
    this.#wheel = wheel;
    this.onIdle = onIdle;
    this.activeAt = wheel.turns;
  }

  /** Notes that something happened: silence begins anew. */
  touch(): void {
    this.activeAt = this.#wheel.turns;
  }

  /** Ends the watch. Ending it again changes nothing. */
  end(): void {
    this.#wheel.remove(this);
  }
}
