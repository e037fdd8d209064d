// Clocks and timers that a test moves.

/** The clocks of some nodes on one machine. Time passes only in {@linkcode ManualClock.advance}. */
export class ManualClock {
  #time: number;
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly action: () => void }>();

  /** Begins at a time, such as `"2026-03-29T00:00:00Z"`. */
  constructor(time: string) {
    this.#time = Date.parse(time);
  }

  readonly time = (): number => this.#time;

  readonly now = (): number => this.#now;

  readonly wall = (): number => this.#time;

  readonly after = (ms: number, action: () => void): () => void => {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** Sets the time, as somebody does who corrects the clock. Timers do not notice. */
  set(time: string): void {
    this.#time = Date.parse(time);
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Lets time pass, timer by timer, and all that they cause happen at once. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (;;) {
      const [next] = [...this.#timers].sort((one, other) => one.at - other.at);
      if (!next || next.at > end) break;
      this.#timers.delete(next);
      this.#pass(Math.max(0, next.at - this.#now));
      next.action();
      await settled();
    }
    this.#pass(end - this.#now);
  }

  /** Lets time pass until a time of day. */
  async until(time: string): Promise<void> {
    await this.advance(Date.parse(time) - this.#time);
  }

  #pass(ms: number): void {
    this.#now += ms;
    this.#time += ms;
  }
}

/** Lets what is due happen: no step of what is tested waits for more turns than that. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
}
