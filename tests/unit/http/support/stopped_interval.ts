// Lets intervals pass when a test says so.

/** Until it is disposed of, intervals do not run. */
export class StoppedInterval implements Disposable {
  readonly #original = globalThis.setInterval;
  readonly #originalClear = globalThis.clearInterval;
  readonly #callbacks = new Map<number, () => void>();
  #lastId = 0;

  constructor() {
    globalThis.setInterval = ((run: () => void) => {
      this.#callbacks.set(++this.#lastId, run);
      return this.#lastId;
    }) as unknown as typeof setInterval;
    globalThis.clearInterval = (id) => void this.#callbacks.delete(id as number);
  }

  /** How many intervals there are. */
  get size(): number {
    return this.#callbacks.size;
  }

  /** Runs each interval this many times. */
  pass(times: number): void {
    for (; times > 0; times--) for (const run of [...this.#callbacks.values()]) run();
  }

  [Symbol.dispose](): void {
    globalThis.setInterval = this.#original;
    globalThis.clearInterval = this.#originalClear;
  }
}
