// Random choices that are the same in every run, so that a failure can be had again.

/** A sequence of choices from a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 up to, not including, the bound. */
  below(bound: number): number {
    // The generator "mulberry32", of which 32 bits of state are enough for tests.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }

  /** One of the options. */
  pick<T>(options: readonly T[]): T {
    return options[this.below(options.length)]!;
  }

  /** A list of as many as up to the bound. */
  list<T>(bound: number, make: () => T): T[] {
    return Array.from({ length: this.below(bound + 1) }, make);
  }

  /** True once in this many calls. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }
}
