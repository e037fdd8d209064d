// Lets time pass that a test cannot wait for.

/** Until it is disposed of, timers of one length fire at once, or of two lengths and those between them. */
export class SkippedTimeout implements Disposable {
  readonly #original = globalThis.setTimeout;

  constructor(shortest: number, longest: number = shortest) {
    const original = this.#original;
    globalThis.setTimeout =
      ((run: () => void, ms: number) => original(run, ms >= shortest && ms <= longest ? 0 : ms)) as typeof setTimeout;
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#original;
  }
}
