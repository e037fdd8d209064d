/** How slowly a large body may arrive. */

/** The least average speed, in bytes per millisecond: 16 KiB/s. */
const MIN_SPEED = 16 * 1024 / 1000;

/** The time before the average counts, in milliseconds. */
const GRACE = 30_000;

/**
 * The pace of a body. Only the time in which the server waits for bytes counts, not the time in
 * which it writes them to a slow disk.
 */
export class Pace {
  readonly #grace: number;
  #size = 0;
  #waited = 0;

  /**
   * Begins a body.
   *
   * @param silence The time that the body may take without a byte, in milliseconds. The average
   * does not count before it.
   */
  constructor(silence: number) {
    this.#grace = Math.max(GRACE, silence);
  }

  /**
   * Counts a chunk. Returns whether the body is too slow so far.
   *
   * @param size The size of the chunk in bytes.
   * @param waited How long the server waited for it, in milliseconds.
   */
  isTooSlow(size: number, waited: number): boolean {
    this.#size += size;
    this.#waited += waited;
    return this.#waited > this.#grace && this.#size < this.#waited * MIN_SPEED;
  }
}
