/** A clock that a test sets, so that times pass without waiting. */
export class Clock {
  #time = Date.UTC(2026, 0, 1);

  /** The time in milliseconds since 1970. */
  readonly now = (): number => this.#time;

  /** Lets time pass. */
  advance(ms: number): void {
    this.#time += ms;
  }
}
