/** Bounds how many bytes are on their way at once: who wants more waits for those who came before. */

/** Who waits. */
interface Turn {
  readonly bytes: number;
  /** Since when, in milliseconds of `performance.now()`. */
  readonly since: number;
  readonly begin: () => void;
  readonly fail: (error: unknown) => void;
}

/** A number of bytes, of which parts are taken and given back. */
export class ByteBudget {
  readonly #bytes: number;
  readonly #patience: number;
  readonly #waiting = new Set<Turn>();
  #free: number;

  /**
   * Has all of the bytes.
   *
   * @param bytes How many.
   * @param patience How long is waited where others fail, in milliseconds: as long as these have tried.
   */
  constructor(bytes: number, patience: number) {
    this.#bytes = this.#free = bytes;
    this.#patience = patience;
  }

  /**
   * Does something as soon as there is room for it.
   *
   * @param wanted How many bytes it takes. What takes more than there are takes all of them; what takes none waits for nobody.
   * @param action What is done.
   * @param signal Gives up waiting.
   */
  async use<Result>(wanted: number, action: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const bytes = Math.min(wanted, this.#bytes);
    if (bytes > 0 && (this.#waiting.size > 0 || bytes > this.#free)) await this.#wait(bytes, signal);
    else this.#free -= bytes;
    try {
      return await action();
    } catch (error) {
      if (!signal?.aborted) this.#failLate(error);
      throw error;
    } finally {
      this.#free += bytes;
      this.#beginNext();
    }
  }

  async #wait(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn: Turn = { bytes, since: performance.now(), begin: resolve, fail: reject };
    const leave = () => {
      if (!this.#waiting.delete(turn)) return;
      reject(signal!.reason);
      // It may have been the first, and too large for what is free.
      this.#beginNext();
    };
    this.#waiting.add(turn);
    signal?.addEventListener("abort", leave);
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  /** Fails who has waited for as long as what has failed was tried: all of them would be, one after the other. */
  #failLate(error: unknown): void {
    const latest = performance.now() - this.#patience;
    for (const turn of this.#waiting) {
      if (turn.since > latest) return;
      this.#waiting.delete(turn);
      turn.fail(error);
    }
  }

  #beginNext(): void {
    for (const turn of this.#waiting) {
      if (turn.bytes > this.#free) return;
      this.#waiting.delete(turn);
      this.#free -= turn.bytes;
      turn.begin();
    }
  }
}
