// Lets time pass that a test cannot wait for.

/** Until it is disposed of, timers of one length fire at once. */
export class SkippedTimeout implements Disposable {
  readonly #original = globalThis.setTimeout;

  constructor(skipped: number) {
    const original = this.#original;
    globalThis.setTimeout =
      ((run: () => void, ms: number) => original(run, ms === skipped ? 0 : ms)) as typeof setTimeout;
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#original;
  }
}
