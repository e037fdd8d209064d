/** The abort signal of one call. */

/** The longest delay of a platform's timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The calls that a signal aborts. Node.js warns of more than ten listeners, so it gets only one.
 */
const callsOf = new WeakMap<AbortSignal, Set<CallSignal>>();

function abortCalls({ target }: Event): void {
  for (const call of callsOf.get(target as AbortSignal)!) call.abort((target as AbortSignal).reason);
}

/**
 * Aborts when one of several signals does, or after a timeout. `AbortSignal.any` would keep a call
 * in memory as long as its sources, and those of a client outlive its calls.
 */
export class CallSignal {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether there is a signal or a timeout. Requests without either are faster. */
  readonly isEndable: boolean;
  /** Whether a request was sent: mistakes in the arguments are thrown before. */
  isSent = false;
  /** Whether a stream or a socket outlives the call, and ends it. */
  isStreaming = false;

  /** @param timeout The time until there is a result, in milliseconds. */
  constructor(sources: readonly (AbortSignal | undefined)[], timeout: number | undefined) {
    this.#sources = sources.filter((source) => source !== undefined);
    for (const source of this.#sources) {
      if (source.aborted) this.abort(source.reason);
      const calls = callsOf.get(source) ?? new Set();
      callsOf.set(source, calls.add(this));
      source.addEventListener("abort", abortCalls);
    }
    if (timeout) {
      const expire = () => this.abort(new DOMException(`No result within ${timeout} ms`, "TimeoutError"));
      this.#timer = setTimeout(expire, Math.min(timeout, MAX_TIMER_MS));
    }
    this.isEndable = !!timeout || this.#sources.length > 0;
  }

  /** The signal for `fetch`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Waits for a promise, and rejects with the signal's reason when the call is aborted: a `fetch`
   * given to a client may ignore the signal of its request.
   */
  until<Value>(promise: Promise<Value>): Promise<Value> {
    if (!this.isEndable && !this.isStreaming) return promise;
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      signal.addEventListener("abort", abort);
      if (signal.aborted) abort();
      promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  /** Waits, and rejects with the signal's reason when the call is aborted. */
  pause(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout>;
    const wait = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
    return this.until(wait).finally(() => clearTimeout(timer));
  }

  /** Aborts the call. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Clears the timeout: the result is there. */
  settle(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the call: clears the timeout, and stops listening to the signals. */
  release(): void {
    this.settle();
    for (const source of this.#sources) {
      const calls = callsOf.get(source)!;
      calls.delete(this);
      if (calls.size === 0) source.removeEventListener("abort", abortCalls);
    }
  }
}
