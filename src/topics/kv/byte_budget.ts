/** Bounds how many bytes are on their way at once: who wants more waits for those who came before. */

/** Who waits. */
interface Turn {
  readonly bytes: number;
  /** Since when, in milliseconds of `performance.now()`. */
  readonly since: number;
  readonly begin: () => void;
  readonly fail: (error: unknown) => void;
}

/** How a part is taken. */
export interface TakeOptions {
  /** Whether it was taken before, in vain: it comes before those who have had none. */
  readonly isAgain?: boolean;
  /** Gives up waiting. */
  readonly signal?: AbortSignal | undefined;
}

/** A number of bytes, of which parts are taken and given back. */
export class ByteBudget {
  readonly #limit: () => number;
  readonly #waitingAgain = new Set<Turn>();
  readonly #waiting = new Set<Turn>();
  #taken = 0;
  /** How many have a part. Means of bytes are no whole numbers, so that those that are taken need not come to be 0 again. */
  #users = 0;

  /**
   * Has all of the bytes.
   *
   * @param limit How many there are; it may change.
   */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /**
   * Does something as soon as there is room for it.
   *
   * @param bytes How many bytes it takes. What takes more than there are is done alone.
   * @param action What is done.
   */
  async use<Result>(
    bytes: number,
    action: () => Promise<Result>,
    { isAgain = false, signal }: TakeOptions = {},
  ): Promise<Result> {
    const queue = isAgain ? this.#waitingAgain : this.#waiting;
    const isNext = queue.size === 0 && this.#waitingAgain.size === 0;
    if (isNext && this.#hasRoom(bytes)) this.#take(bytes);
    else await this.#wait(queue, bytes, signal);
    try {
      return await action();
    } finally {
      this.#taken -= bytes;
      this.#users--;
      this.#beginNext();
    }
  }

  /**
   * Fails who has waited for long.
   *
   * @param error Why.
   * @param patience How long that is, in milliseconds.
   */
  failLate(error: unknown, patience: number): void {
    const latest = performance.now() - patience;
    for (const queue of [this.#waitingAgain, this.#waiting]) {
      for (const turn of queue) {
        if (turn.since > latest) break;
        queue.delete(turn);
        turn.fail(error);
      }
    }
  }

  #take(bytes: number): void {
    this.#taken += bytes;
    this.#users++;
  }

  #hasRoom(bytes: number): boolean {
    return this.#users === 0 || this.#taken + bytes <= this.#limit();
  }

  async #wait(queue: Set<Turn>, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn: Turn = { bytes, since: performance.now(), begin: resolve, fail: reject };
    const leave = () => {
      if (!queue.delete(turn)) return;
      reject(signal!.reason);
      // It may have been the first, and too large for what is free.
      this.#beginNext();
    };
    queue.add(turn);
    signal?.addEventListener("abort", leave);
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  #beginNext(): void {
    for (const queue of [this.#waitingAgain, this.#waiting]) {
      for (const turn of queue) {
        if (!this.#hasRoom(turn.bytes)) return;
        queue.delete(turn);
        this.#take(turn.bytes);
        turn.begin();
      }
    }
  }
}
