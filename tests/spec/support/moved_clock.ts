// A clock that tests move.

/** Moves `Date.now()` until it is disposed. */
export class MovedClock implements Disposable {
  readonly #now = Date.now;
  #ms = 0;

  constructor() {
    Date.now = () => this.#now.call(Date) + this.#ms;
  }

  /** Moves the clock forward. */
  advance(ms: number): void {
    this.#ms += ms;
  }

  [Symbol.dispose](): void {
    Date.now = this.#now;
  }
}
