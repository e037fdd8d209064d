/** Runs a number of actions at once. The others wait in their order. */
export class Semaphore {
  #free: number;
  /** When each began to wait, by `performance.now()`. */
  readonly #waiters = new Map<PromiseWithResolvers<void>, number>();

  constructor(size: number) {
    this.#free = size;
  }

  async use<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else {
      const waiter = Promise.withResolvers<void>();
      this.#waiters.set(waiter, performance.now());
      await waiter.promise;
    }
    try {
      return await action();
    } finally {
      const [next] = this.#waiters.keys();
      if (next) {
        this.#waiters.delete(next);
        next.resolve();
      } else this.#free++;
    }
  }

  /** Rejects all that have waited for so many milliseconds. */
  failWaiters(error: unknown, ms: number): void {
    const latest = performance.now() - ms;
    for (const [waiter, since] of this.#waiters) {
      if (since > latest) return;
      this.#waiters.delete(waiter);
      waiter.reject(error);
    }
  }
}
