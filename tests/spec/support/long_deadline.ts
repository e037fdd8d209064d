// Deadlines that a busy machine cannot miss.

/** The framework visits what has a deadline after this part of its time, then sets its end. */
const FIRST_VISIT = 1 / 16;

/** Until it is disposed, deadlines of one length do not pass. */
export class LongDeadline implements Disposable {
  readonly #original = globalThis.setTimeout;
  /** What visits the deadlines, by its timer. */
  readonly #visits = new Map<ReturnType<typeof setTimeout>, () => void>();

  constructor(deadlineMs: number) {
    const original = this.#original;
    globalThis.setTimeout = ((run: () => void, ms: number) => {
      if (ms === deadlineMs) return original(run, 600_000);
      if (ms !== deadlineMs * FIRST_VISIT) return original(run, ms);
      const timer = original(run, 600_000);
      this.#visits.set(timer, run);
      return timer;
    }) as typeof setTimeout;
  }

  /** Visits the deadlines, none of which is left, so that no timer is. */
  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#original;
    for (const [timer, visit] of this.#visits) {
      clearTimeout(timer);
      visit();
    }
  }
}
