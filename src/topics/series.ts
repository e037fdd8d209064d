/** The series that the batches of one publisher make: `series_id.ts` tells what it is for. */

/**
 * After how many milliseconds it is not gone on with, by either clock of this machine: a store may
 * have forgotten it after twice as long. The wall clock may be set back, and `performance.now()`
 * may stand still while the machine sleeps.
 */
const MAX_IDLE = 60_000;

/** Counts what a publisher appends. */
export class Series {
  readonly #now: () => number;
  #key: string | undefined;
  #count = 0;
  #continuedAt = 0;
  /** The same in milliseconds of `performance.now()`. */
  #steadyAt = 0;

  /**
   * Begins with the first batch.
   *
   * @param now The time in milliseconds since 1970.
   */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** What the next batch goes on with, and the number of its first message there. */
  next(): { readonly series: string; readonly first: number } {
    const idle = Math.max(this.#now() - this.#continuedAt, performance.now() - this.#steadyAt);
    if (idle > MAX_IDLE) this.end();
    this.#key ??= crypto.randomUUID();
    return { series: this.#key, first: this.#count };
  }

  /** So many messages were appended, and everybody knows what became of theirs. */
  continue(count: number): void {
    this.#count += count;
    this.#continuedAt = this.#now();
    this.#steadyAt = performance.now();
  }

  /** Somebody does not know, and may ask by the message's number: so no later batch may take this one's place. */
  end(): void {
    this.#key = undefined;
    this.#count = 0;
  }
}
