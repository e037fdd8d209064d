// A clock for tests of crons that run on the real one.

/** Lets the clock stand shortly before a minute begins, until it may go on. */
export class BeforeMinute implements Disposable {
  readonly #now = Date.now;
  readonly #start: number;
  #since: number | undefined;

  constructor() {
    const now = this.#now.call(Date);
    this.#start = now - now % 60_000 + 60_000 - 20;
    Date.now = () => this.#start + (this.#since === undefined ? 0 : this.#now.call(Date) - this.#since);
  }

  go(): void {
    this.#since = this.#now.call(Date);
  }

  [Symbol.dispose](): void {
    Date.now = this.#now;
  }
}
