// Time that tests move, for code that waits longer than a test can.

/** Until it is disposed of, timers and `performance.now()` follow a clock that the test moves. */
export class FakeTime implements Disposable {
  readonly #setTimeout = globalThis.setTimeout;
  readonly #clearTimeout = globalThis.clearTimeout;
  readonly #performanceNow = performance.now;
  readonly #timers = new Map<number, { readonly at: number; readonly run: () => void }>();
  #now = 0;
  #count = 0;

  constructor() {
    globalThis.setTimeout = ((run: () => void, ms = 0) => {
      this.#timers.set(++this.#count, { at: this.#now + ms, run });
      return this.#count;
    }) as unknown as typeof setTimeout;
    globalThis.clearTimeout = (timer) => void this.#timers.delete(timer as number);
    performance.now = () => this.#now;
  }

  /** How long the next timer has to wait; undefined if there is none. */
  get untilNext(): number | undefined {
    const times = [...this.#timers.values()].map(({ at }) => at - this.#now);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Lets all run that waits for no timer. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => this.#setTimeout(resolve, 0));
  }

  /** Moves the clock forward, and lets everything run that is due then. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await this.settle();
      const [due] = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, one], [, other]) => one.at - other.at);
      if (!due) break;
      const [timer, { at, run }] = due;
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, at);
      run();
    }
    this.#now = end;
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#setTimeout;
    globalThis.clearTimeout = this.#clearTimeout;
    performance.now = this.#performanceNow;
  }
}
