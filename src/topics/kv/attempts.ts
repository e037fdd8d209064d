/** What a database was asked and has not answered: nobody waits for it longer than a time, which is the same for all. */

/** Something that was asked. */
interface Attempt {
  readonly begin: number;
  readonly running: Promise<unknown>;
  /** Ends the waiting; what was asked may go on. */
  readonly leave: (reason: unknown) => void;
  readonly onLate: () => void;
  isLeft: boolean;
}

/** Waits for answers. */
export class Attempts {
  readonly #deadline: number;
  /** In the order in which they began, so that the first is late first: one timer does for all, and is left to run between them. */
  readonly #all = new Set<Attempt>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Waits for nothing yet; later for as many milliseconds. */
  constructor(deadline: number) {
    this.#deadline = deadline;
  }

  /**
   * Waits for an answer.
   *
   * @param running The answer.
   * @param onLate Is called when it has taken too long.
   * @param signal Gives up.
   */
  wait<Result>(running: Promise<Result>, onLate: () => void, signal: AbortSignal | undefined): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const onAbort = signal && (() => attempt.leave(signal.reason));
    const attempt: Attempt = {
      begin: performance.now(),
      running,
      onLate,
      isLeft: false,
      leave: (reason) => {
        attempt.isLeft = true;
        if (onAbort) signal.removeEventListener("abort", onAbort);
        reject(reason);
      },
    };
    const end = (): void => {
      this.#all.delete(attempt);
      if (onAbort) signal.removeEventListener("abort", onAbort);
    };
    this.#all.add(attempt);
    if (onAbort) signal.addEventListener("abort", onAbort);
    running.then((result) => {
      end();
      resolve(result);
    }, (error) => {
      end();
      reject(error);
    });
    this.#timer ??= this.#look(this.#deadline);
    return promise;
  }

  /** Resolves when all have ended, also those that nobody waits for any more. */
  async ended(): Promise<void> {
    await Promise.allSettled(Array.from(this.#all, ({ running }) => running));
  }

  /** Waits for none of them any longer. */
  leaveAll(reason: unknown): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const attempt of this.#all) attempt.leave(reason);
  }

  #look(delay: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      const now = performance.now();
      this.#timer = undefined;
      for (const attempt of this.#all) {
        if (attempt.isLeft) continue;
        const rest = attempt.begin + this.#deadline - now;
        if (rest > 0) {
          this.#timer = this.#look(rest);
          return;
        }
        attempt.leave(new Error(`No answer within ${this.#deadline} ms`));
        attempt.onLate();
      }
    }, delay);
    // What was asked keeps the process alive by itself.
    Deno.unrefTimer(timer);
    return timer;
  }
}
